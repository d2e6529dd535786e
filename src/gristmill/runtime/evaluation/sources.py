"""Where truth and predictions come from: labelled files, outputs of runs, and the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from gristmill.api.reading import latest_runs
from gristmill.domain.commit import StoredRun
from gristmill.domain.contribution import decide_labels
from gristmill.domain.errors import UsageError
from gristmill.domain.ids import ItemId
from gristmill.domain.intake import MappedRecord
from gristmill.intake.fields import FieldMap
from gristmill.intake.mapping import RecordMapper
from gristmill.intake.reader import FAULT_HEADER, LINE_HEADER, open_input
from gristmill.plans.names import advise_known
from gristmill.runtime.composition.stores import Store
from gristmill.runtime.folder import StateFolder
from gristmill.runtime.reading.lookup import find_items

__all__ = ["LabelledText", "Predictions", "read_labelled", "read_output", "read_state"]

TRUE_WORDS = frozenset({"true", "1", "1.0", "yes", "y", "t"})
FALSE_WORDS = frozenset({"false", "0", "0.0", "no", "n", "f", "", "ham", "none"})


class LabelledText(msgspec.Struct, frozen=True):
    """A text with the truth about it."""

    input_id: str
    text: str
    is_true: bool


def read_labelled(path: Path, *, label: str, expect: str, fields: FieldMap, blobs: Path) -> list[LabelledText]:
    """Return the texts of a file of which the truth is known.

    A value is true when it equals `expect`, or says yes: true, 1, yes.

    Raises:
        UsageError: the file cannot be read, no record has the field, or a value is neither yes nor no.
    """
    found: list[LabelledText] = []
    names: set[str] = set()
    for record in _read_records(path, fields, blobs):
        names.update(record.ext)
        if label in record.ext and record.ext[label] is not None:
            is_true = _read_truth(record.ext[label], expect, label)
            found.append(LabelledText(record.input_id, record.text, is_true))
    if not found:
        raise UsageError(f"no record of {path} has the field", value=label, advice=advise_known(label, names))
    return found


class Predictions(msgspec.Struct, frozen=True):
    """What is said of one label.

    Attributes:
        given: input id -> whether the label was given.
        scores: input id -> its score; where it was not given, what a cell has kept of it, or 0.
    """

    given: dict[str, bool]
    scores: dict[str, float]


def read_output(path: Path, val: str) -> Predictions:
    """Return the predictions in the output of a run.

    Raises:
        UsageError: the file does not exist or is no such output.
    """
    try:
        content = path.read_bytes()
        lines = [msgspec.json.decode(line, type=_Line) for line in content.splitlines() if line.strip()]
    except OSError as error:
        raise UsageError("predictions cannot be read", value=str(path), advice=error.strerror or "") from error
    except msgspec.MsgspecError as error:
        advice = f"it should be the output of `gristmill run`: {error}"
        raise UsageError("file holds no predictions", value=str(path), advice=advice) from error
    predictions = Predictions({}, {})
    for line in lines:
        labels = [label.score for label in line.labels if label.val == val]
        _note(predictions, line.id, labels, _kept_score(line.fields.values(), val))
    return predictions


async def read_state(
    store: Store, folder: StateFolder, input_ids: Iterable[str], val: str, *, revision: str = ""
) -> Predictions:
    """Return the predictions of the newest runs, or of the newest ones that a revision took part in.

    A revision is that of a label, of a cell's operator, or one that a cell names (a head, a rule file).

    Raises:
        UsageError: no run of these items used the revision.
    """
    predictions = Predictions({}, {})
    for input_id in input_ids:
        for item_id in (await find_items(store, folder, input_id))[:1]:
            runs = latest_runs([run for run in await store.state.runs(item_id) if _took_part(run, revision)])
            if runs:
                cells = [cell.value for run in runs for cell in run.cells]
                _note(predictions, input_id, await _label_scores(store, item_id, runs, val), _kept_score(cells, val))
    if revision and not predictions.given:
        raise UsageError("revision", value=revision, advice="no stored run of these items used it")
    return predictions


class _LabelLine(msgspec.Struct):
    val: str
    score: float


class _Line(msgspec.Struct):
    id: str
    labels: list[_LabelLine]
    fields: dict[str, Any] = {}


def _note(predictions: Predictions, input_id: str, labels: Sequence[float], kept: float) -> None:
    predictions.given[input_id] = bool(labels)
    predictions.scores[input_id] = max(labels, default=kept)


def _kept_score(cells: Iterable[Any], val: str) -> float:
    """Return the score of a label below its threshold, where a cell keeps `scores` as the flow `screen` does."""
    kept = [cell["scores"] for cell in cells if isinstance(cell, Mapping) and isinstance(cell.get("scores"), list)]
    scores = [
        float(entry["score"])
        for entries in kept
        for entry in entries
        if isinstance(entry, Mapping) and entry.get("val") == val and isinstance(entry.get("score"), (int, float))
    ]
    return max(scores, default=0.0)


def _read_records(path: Path, fields: FieldMap, blobs: Path) -> Iterator[MappedRecord]:
    mapper = RecordMapper(fields, source=str(path))
    for batch in open_input(path).read(blobs=blobs):
        for record in batch:
            fallback_id = f"line-{record.headers[LINE_HEADER]}"
            broken = record.headers.get(FAULT_HEADER, "")
            mapped = mapper.map(record.value, fallback_id=fallback_id, broken=broken)
            if isinstance(mapped, MappedRecord):
                yield mapped


def _read_truth(value: Any, expect: str, label: str) -> bool:
    word = str(value).strip().lower()
    if word == expect.lower() or word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS or isinstance(value, str):
        return False
    raise UsageError(
        f"truth in field {label!r}", value=value, advice=f"use true and false, or {expect!r} and another word"
    )


async def _label_scores(store: Store, item_id: ItemId, runs: list[StoredRun], val: str) -> list[float]:
    labels = [label for run in runs for label in run.labels]
    shared = (await store.state.contributions([item_id])).get(item_id, [])
    labels += decide_labels(item_id, shared, given=frozenset(label.val for label in labels))
    return [label.score for label in labels if label.val == val]


def _took_part(run: StoredRun, revision: str) -> bool:
    if not revision or any(label.revision == revision for label in run.labels):
        return True
    for cell in run.cells:
        named = cell.value.values() if isinstance(cell.value, Mapping) else ()
        if cell.revision == revision or revision in [value for value in named if isinstance(value, str)]:
            return True
    return False
