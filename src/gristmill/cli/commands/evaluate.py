"""`gristmill eval`: how well labels agree with the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gristmill.cli.app import EXIT_OK
from gristmill.cli.options import ConfigFile, MapTexts, StateDir, folder_of, load
from gristmill.domain.errors import UsageError
from gristmill.intake.fields import parse_field_map
from gristmill.runtime.evaluation.measures_core import Measure, compare, measure, sweep
from gristmill.runtime.evaluation.sources import Predictions, read_labelled, read_output, read_state
from gristmill.runtime.loop import run_async
from gristmill.runtime.reading.lookup import open_for_reading
from gristmill.runtime.settings import Settings

__all__ = ["evaluate"]

IDS_SHOWN_MAX = 10


def evaluate(
    *,
    truth: Annotated[Path, Parameter(help="JSONL or CSV file that holds the truth.")],
    label: Annotated[str, Parameter(help="Its field with the truth: true or false, or the label's name.")],
    expect: Annotated[str, Parameter(help="The label that should be found where the truth is true.")],
    pred: Annotated[
        Path | None, Parameter(help="Output of `gristmill run`; the state folder without it.", show_default=False)
    ] = None,
    against: Annotated[
        str | None, Parameter(help="Second output, or a revision in the state folder, to compare.", show_default=False)
    ] = None,
    map: MapTexts = (),
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Compare labels with the truth: precision, recall, F1 and thresholds; with --against, where two differ.

    A revision is that of an operator, of a rule file or of a trained head; `gristmill show ID` names them.
    """
    settings = load(state=state, config=config).settings
    folder = folder_of(settings)
    labelled = read_labelled(truth, label=label, expect=expect, fields=parse_field_map(map), blobs=folder.blobs_dir)
    expected = {each.input_id: each.is_true for each in labelled}
    found = read_output(pred, expect) if pred is not None else _from_state(settings, expected, expect)
    missing = sum(1 for key in expected if key not in found.given)
    if missing == len(expected):
        raise UsageError("no prediction for any text of the truth", value=str(truth), advice="do the ids agree?")
    _print_measure(f"{expect} on {truth.name}", measure(expected, found.given))
    if missing:
        print(f"  without a prediction, counted as not given: {missing}")
    _print_sweep(expected, found.scores)
    if against is not None:
        other = (
            read_output(Path(against), expect)
            if Path(against).is_file()
            else _from_state(settings, expected, expect, revision=against)
        )
        _print_difference(against, expected, found.given, other.given)
    return EXIT_OK


def _from_state(settings: Settings, expected: dict[str, bool], expect: str, *, revision: str = "") -> Predictions:
    async def read() -> Predictions:
        folder = folder_of(settings)
        async with open_for_reading(folder, settings) as store:
            return await read_state(store, folder, expected, expect, revision=revision)

    return run_async(read())


def _print_measure(title: str, found: Measure) -> None:
    total = found.true_positives + found.false_positives + found.false_negatives + found.true_negatives
    print(f"{title}: precision {found.precision:.3f}  recall {found.recall:.3f}  F1 {found.f1:.3f}")
    print(
        f"  {total} texts: {found.true_positives} found, {found.false_negatives} missed, "
        f"{found.false_positives} false alarms, {found.true_negatives} rightly left alone"
    )


def _print_sweep(expected: dict[str, bool], scores: dict[str, float]) -> None:
    print("  threshold  precision  recall     F1")
    rows = sweep(expected, scores)
    best = max(rows, key=lambda row: row.measure.f1)
    for row in rows:
        found = row.measure
        mark = "  best" if row is best else ""
        print(f"  {row.threshold:9.2f}  {found.precision:9.3f}  {found.recall:6.3f}  {found.f1:5.3f}{mark}")


def _print_difference(name: str, expected: dict[str, bool], given: dict[str, bool], other: dict[str, bool]) -> None:
    _print_measure(f"against {name}", measure(expected, other))
    difference = compare(expected, given, other)
    print(f"  same answer for {difference.agree} texts")
    for title, keys in (("now right", difference.better), ("now wrong", difference.worse)):
        more = f" and {len(keys) - IDS_SHOWN_MAX} more" if len(keys) > IDS_SHOWN_MAX else ""
        print(f"  {title}: {len(keys)}  {', '.join(keys[:IDS_SHOWN_MAX])}{more}".rstrip())
