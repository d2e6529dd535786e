"""`gristmill demo`: sample posts through two plans, what was found, and the console to look at it."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from cyclopts import Parameter
from rich.console import Console

from gristmill.adapters.clock import SystemClock
from gristmill.cli.app import EXIT_INTERRUPTED, EXIT_OK
from gristmill.cli.consoles import plain_console
from gristmill.cli.demonstration.seed import PLANS, negate_wrong_label, prices_file, write_posts
from gristmill.cli.demonstration.showing import CONSOLE, is_turned_off, serve_console
from gristmill.cli.options import ConfigFile, StateDir, load
from gristmill.cli.progress import print_summary
from gristmill.cli.running import run_locked
from gristmill.runtime.batch.outcomes import OutcomeLine
from gristmill.runtime.folder import StateFolder
from gristmill.runtime.loop import run_async
from gristmill.runtime.reading.lookup import open_for_reading
from gristmill.runtime.settings_sources import RUN_DEFAULTS, LoadedSettings

__all__ = ["demo"]

DEFAULTS = {**RUN_DEFAULTS, "dispatcher.recovery_delay_s": 0.2, "dispatcher.recoveries_max": 1}
"""One record fails for good, and nobody should wait long for that."""

EXAMPLES_PER_LABEL = 3
TEXT_CHARS_SHOWN = 80
T = TypeVar("T")

TOLD_APART = ("lang",)
"""Every post has a language: it is counted, not shown one by one."""

Serve = Annotated[
    bool | None,
    Parameter(help="Serve the console in the end, until Ctrl-C. [default: on a terminal]", show_default=False),
]


def demo(*, serve: Serve = None, state: StateDir = None, config: ConfigFile = None) -> int:
    """Label sample posts, show what was found, and serve the console over it.

    It needs nothing prepared and uses no network. Labelling takes seconds; a second call finds what the first has done.
    """
    loaded = load(state=state, config=config, defaults=DEFAULTS)
    folder = Path(loaded.settings.main.state_dir)
    folder.mkdir(parents=True, exist_ok=True)
    posts, output = write_posts(folder, SystemClock()), folder / "demo.jsonl"
    console = plain_console()
    report = run_locked(loaded, input=posts, output=output, plans=PLANS, flow_files=(str(prices_file()),))
    print_summary(console, report, output=output, log_file=loaded.settings.main.log_file or str(folder))
    if report.summary is None:
        return EXIT_INTERRUPTED
    _judge(loaded, posts)
    lines = _read(output, OutcomeLine)
    texts = {post.id: post.text for post in _read(posts, _Post)}
    _print_languages(console, lines)
    for label in report.summary.labels:
        if label not in TOLD_APART:
            _print_examples(console, label, lines, texts)
    options = [*(("--state", str(state)) if state else ()), *(("--config", str(config)) if config else ())]
    _print_next(console, max(lines, key=lambda line: len(line.labels)).id, options)
    return _show(console, loaded, options, is_wanted=serve)


def _show(console: Console, loaded: LoadedSettings, options: list[str], *, is_wanted: bool | None) -> int:
    if is_turned_off(loaded):
        console.print("\nThe console is turned off by the settings api.enabled or console.enabled.")
        return EXIT_OK
    if is_wanted is None:
        is_wanted = sys.stdin.isatty() and sys.stdout.isatty()
    if not is_wanted:
        section = loaded.settings.api
        address = f"http://{section.host}:{section.port}{CONSOLE}" if section.port else "the address"
        console.print("\nLook at it in the console:")
        console.print(f"  {_command('demo', '--serve', *options)}")
        console.print(f"  then open {address} with the login that it prints; Ctrl-C ends it")
        return EXIT_OK
    # Ctrl-C is how it is meant to end, also before it listens for signals.
    with contextlib.suppress(KeyboardInterrupt):
        serve_console(loaded, flow_file=prices_file())
    return EXIT_OK


def _judge(loaded: LoadedSettings, posts: Path) -> None:
    source = str(posts.resolve())

    async def judge() -> None:
        async with open_for_reading(StateFolder(posts.parent), loaded.settings) as store:
            await negate_wrong_label(store, source, SystemClock())

    run_async(judge())


def _print_next(console: Console, example: str, options: list[str]) -> None:
    console.print("\nNext:")
    console.print(f"  {_command('explain', example, *options)}")
    console.print(f"  {_command('dlq', 'ls', *options)}")
    console.print(f"  {_command('plans', 'show', 'screen')}")
    console.print(f"  {_command('run', '--input', 'YOUR.csv', '--output', 'out.jsonl')}")


def _command(*arguments: str) -> str:
    """Return a line that calls this very program again, whether it is on the path or not."""
    called = Path(sys.argv[0])
    if called.name != "gristmill":
        return shlex.join([sys.executable, "-m", "gristmill", *arguments])
    found = shutil.which("gristmill")
    is_on_path = found is not None and Path(found).resolve() == called.resolve()
    return shlex.join(["gristmill" if is_on_path else sys.argv[0], *arguments])


class _Post(msgspec.Struct):
    id: str
    text: str


def _read(path: Path, kind: type[T]) -> list[T]:
    """Return the lines of a file that can be read."""
    found: list[T] = []
    for line in path.read_bytes().splitlines():
        try:
            found.append(msgspec.json.decode(line, type=kind))
        except msgspec.DecodeError:
            continue
    return found


def _print_languages(console: Console, lines: list[OutcomeLine]) -> None:
    counts: dict[str, int] = {}
    for line in lines:
        for label in line.labels:
            if label.val == "lang" and label.evidence:
                counts[label.evidence[0]] = counts.get(label.evidence[0], 0) + 1
    if counts:
        shown = ", ".join(f"{code} {count}" for code, count in sorted(counts.items(), key=lambda pair: -pair[1]))
        console.print(f"\nlanguages: {shown}", markup=False)


def _print_examples(console: Console, label: str, lines: list[OutcomeLine], texts: dict[str, str]) -> None:
    found = [(line.id, each) for line in lines for each in line.labels if each.val == label]
    console.print(f"\n{label}: {len(found)}, for example", markup=False)
    for input_id, given in found[:EXAMPLES_PER_LABEL]:
        text = texts.get(input_id, "")
        shown = text if len(text) <= TEXT_CHARS_SHOWN else text[: TEXT_CHARS_SHOWN - 1] + "…"
        console.print(f"  {input_id} {given.score:.2f}  {shown}", markup=False)
        console.print(f"            because: {given.reason}", markup=False)
