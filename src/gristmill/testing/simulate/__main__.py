"""`python -m gristmill.testing.simulate --seeds 1-10000`: many seeds, one line at the end, 1 if any of them failed.

What a seed does depends on the seed alone: the order of sets of strings is fixed too, by a start under
PYTHONHASHSEED=0.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

import msgspec

from gristmill.domain.errors import UsageError
from gristmill.testing.simulate.run import Report, explain, quiet_logs, run_scenario
from gristmill.testing.simulate.scenario import draw_scenario

__all__: list[str] = []

HASH_SEED = "PYTHONHASHSEED"
FAILURES_MAX = 20
"""Seeds that fail after these are not looked for: whoever reads this has enough to do."""


def main() -> int:
    arguments = _parse()
    began_ns = time.monotonic_ns()
    seed_count = step_count = virtual_ms = 0
    failed: list[Report] = []
    with quiet_logs():
        for seed in arguments.seeds:
            scenario = draw_scenario(seed)
            if arguments.verbose:
                print(msgspec.json.format(msgspec.json.encode(scenario)).decode())
            report = run_scenario(scenario, keep_history=arguments.verbose)
            seed_count += 1
            step_count += report.step_count
            virtual_ms += report.ended_at_ms
            if arguments.verbose:
                print(*report.story, sep="\n")
            if report.faults:
                failed.append(report)
                print(explain(report), flush=True)
                if len(failed) >= FAILURES_MAX:
                    break
    seconds = (time.monotonic_ns() - began_ns) / 1e9
    print(
        f"{seed_count} seeds, {len(failed)} failed; {step_count} steps, {virtual_ms / 3_600_000:.1f} hours of their "
        f"own time, {seconds:.1f} s ({1_000 * seconds / seed_count:.1f} ms a seed)"
    )
    return 1 if failed else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m gristmill.testing.simulate", description=__doc__)
    parser.add_argument("--seeds", type=_read_seeds, default=range(1, 1_001), help="one seed, or first-last")
    parser.add_argument("--verbose", action="store_true", help="print what each seed draws and all that happens")
    return parser.parse_args()


def _read_seeds(text: str) -> range:
    first, _, last = text.partition("-")
    try:
        seeds = range(int(first), int(last or first) + 1)
    except ValueError:
        seeds = range(0)
    if not seeds:
        raise argparse.ArgumentTypeError(str(UsageError("seeds", value=text, advice="write 7 or 1-1000")))
    return seeds


if __name__ == "__main__":
    if os.environ.get(HASH_SEED) != "0":
        command = [sys.executable, "-m", "gristmill.testing.simulate", *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, HASH_SEED: "0"})
    sys.exit(main())
