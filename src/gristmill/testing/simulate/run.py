"""Runs seeds and says what became of them."""

from __future__ import annotations

import hashlib
import logging
import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import structlog

from gristmill.testing.simulate.judge import judge
from gristmill.testing.simulate.machine.loop import SimulationLoop, Stuck
from gristmill.testing.simulate.scenario import Scenario, draw_scenario
from gristmill.testing.simulate.world import Parts, World

__all__ = ["Report", "explain", "quiet_logs", "run_scenario", "run_seed"]

HASH_BYTES = 12
SHOWN_MAX = 5


class Report(msgspec.Struct, frozen=True):
    """What became of a seed.

    Attributes:
        faults: everything that must not be, in words; empty if all is well.
        trace_hash: equal for two runs exactly if every step and every event was the same.
        ended_at_ms: how long it took in its own time.
        story: every event as a line, if it was asked for.
    """

    seed: int
    faults: tuple[str, ...]
    trace_hash: str
    step_count: int
    ended_at_ms: int
    story: tuple[str, ...] = ()


def run_seed(seed: int, parts: Parts | None = None) -> Report:
    """Simulate what a seed draws."""
    return run_scenario(draw_scenario(seed), parts)


def run_scenario(scenario: Scenario, parts: Parts | None = None, *, keep_history: bool = False) -> Report:
    """Simulate a scenario."""
    loop = SimulationLoop(random.Random(f"{scenario.seed}/order"))
    world = World(scenario, loop, parts or Parts())
    faults: list[str] = []
    try:
        loop.run_until_complete(world.play())
    except Stuck as stuck:
        faults.append(f"stuck: {stuck}")
    faults += [f"{one.promise}: {one.kind}: {one.detail}" for one in judge(world)]
    faults += [*world.failures, *loop.complaints]
    lines = msgspec.json.Encoder().encode_lines(world.history.events)
    trace = hashlib.blake2b(lines, digest_size=HASH_BYTES)
    trace.update(str(loop.digest).encode())
    story = tuple(lines.decode().splitlines()) if keep_history else ()
    report = Report(scenario.seed, tuple(faults), trace.hexdigest(), loop.step_count, loop.now_us // 1_000, story)
    loop.dispose()
    return report


def explain(report: Report) -> str:
    """Return what a person needs to see it again: what was found, where the code stood, and one command."""
    shown = [f"  {fault}" for fault in report.faults[:SHOWN_MAX]]
    more = len(report.faults) - len(shown)
    return "\n".join(
        [
            f"seed {report.seed} at commit {_read_commit()}, trace {report.trace_hash}:",
            *shown,
            *([f"  and {more} more"] if more > 0 else []),
            f"  replay: PYTHONHASHSEED=0 python -m gristmill.testing.simulate --seeds {report.seed} --verbose",
        ]
    )


@contextmanager
def quiet_logs() -> Iterator[None]:
    """Keep the services from logging, which would take longer than all they do."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.configure(**before)


def _read_commit() -> str:
    command = ["git", "-c", "safe.directory=*", "rev-parse", "--short", "HEAD"]
    try:
        answer = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return answer.stdout.strip() or os.environ.get("GIT_COMMIT", "unknown")
