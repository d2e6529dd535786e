"""`gristmill demo`: sixty sample posts through the flow `screen`, and what it found, for a person to read."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TypeVar

import msgspec
from rich.console import Console

from gristmill.cli.app import EXIT_INTERRUPTED, EXIT_OK
from gristmill.cli.consoles import plain_console
from gristmill.cli.options import ConfigFile, StateDir, load
from gristmill.cli.progress import print_summary
from gristmill.cli.running import run_locked
from gristmill.runtime.batch.outcomes import OutcomeLine
from gristmill.runtime.settings_sources import RUN_DEFAULTS

__all__ = ["demo"]

EXAMPLES_PER_LABEL = 3
TEXT_CHARS_SHOWN = 80
T = TypeVar("T")

TOLD_APART = ("lang",)
"""Every post has a language: it is counted, not shown one by one."""


def demo(*, state: StateDir = None, config: ConfigFile = None) -> int:
    """Run the flow `screen` over sample posts and show what it found.

    It needs nothing prepared, uses no network, and ends within seconds.
    """
    loaded = load(state=state, config=config, defaults=RUN_DEFAULTS)
    folder = Path(loaded.settings.main.state_dir)
    folder.mkdir(parents=True, exist_ok=True)
    output = folder / "demo.jsonl"
    console = plain_console()
    with resources.as_file(resources.files("gristmill.cli").joinpath("data/demo_posts.jsonl")) as posts:
        report = run_locked(loaded, input=posts, output=output, plans=("screen",))
        texts = {post.id: post.text for post in _read(posts, _Post)}
    print_summary(console, report, output=output, log_file=loaded.settings.main.log_file or str(folder))
    if report.summary is None:
        return EXIT_INTERRUPTED
    lines = _read(output, OutcomeLine)
    _print_languages(console, lines)
    for label in report.summary.labels:
        if label not in TOLD_APART:
            _print_examples(console, label, lines, texts)
    example = max(lines, key=lambda line: len(line.labels)).id
    option = f" --state {state}" if state is not None else ""
    console.print("\nNext:")
    console.print(f"  gristmill explain {example}{option}", markup=False)
    console.print("  gristmill plans show screen", markup=False)
    console.print("  gristmill run --input YOUR.csv --output out.jsonl", markup=False)
    return EXIT_OK


class _Post(msgspec.Struct):
    id: str
    text: str


def _read(path: Path, kind: type[T]) -> list[T]:
    return [msgspec.json.decode(line, type=kind) for line in path.read_bytes().splitlines()]


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
