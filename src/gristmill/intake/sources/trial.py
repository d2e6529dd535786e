"""Tries a Source on sample records: what each path finds, and what would become of the records. Nothing is stored."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from gristmill.domain.errors import DataError
from gristmill.domain.intake import LeftOut, MappedRecord, Violations
from gristmill.intake.sources.mapper import CompiledRule, SourceMapper

__all__ = ["PathTrial", "RecordTrial", "Trial", "TrialReport"]

SHOWN_CHARACTERS_MAX = 60
BAD_SHOWN_MAX = 5


class PathTrial(msgspec.Struct, frozen=True):
    """What one path found.

    Attributes:
        hits: records with a value.
        values: values in all of them.
        sample: the first value that became one of the field, as JSON, shortened; empty if none did.
    """

    to: str
    path: str
    hits: int
    values: int
    sample: str


class RecordTrial(msgspec.Struct, frozen=True):
    """A bad record: where it stands, its id as far as it can be told, and all its violations."""

    number: int
    input_id: str
    violations: tuple[str, ...]


class TrialReport(msgspec.Struct, frozen=True):
    """What a trial came to.

    Attributes:
        outcomes: `accepted`, `filtered:<reason>`, `quarantined:<reason>`, `skipped:<reason>` and their numbers.
        bad: the first bad records.
        filter_errors: filters that could not be judged, by name.
    """

    records: int
    paths: tuple[PathTrial, ...]
    outcomes: dict[str, int]
    bad: tuple[RecordTrial, ...]
    filter_errors: dict[str, int]

    @property
    def is_sound(self) -> bool:
        """Whether the Source can be published: there were records, and one of them at least would be an item."""
        return self.outcomes.get("accepted", 0) > 0


class Trial:
    """Takes sample records one by one."""

    def __init__(self, mapper: SourceMapper) -> None:
        self._mapper = mapper
        self._records = 0
        self._hits: Counter[str] = Counter()
        self._values: Counter[str] = Counter()
        self._samples: dict[str, str] = {}
        self._outcomes: Counter[str] = Counter()
        self._bad: list[RecordTrial] = []

    def add(self, raw: bytes, *, broken: str = "") -> None:
        """Try one record; `broken` as in `SourceMapper.map`."""
        self._records += 1
        found = self._mapper.map(raw, broken=broken)
        match found:
            case MappedRecord():
                self._outcomes["accepted"] += 1
            case LeftOut(outcome=outcome, reason=reason):
                self._outcomes[f"{outcome}:{reason}"] += 1
            case Violations(reason=reason, violations=violations):
                self._outcomes[f"quarantined:{reason}"] += 1
                if len(self._bad) < BAD_SHOWN_MAX:
                    input_id = self._mapper.identify(raw, fallback_id="")
                    self._bad.append(RecordTrial(self._records, input_id, violations))
        self._look(raw)

    def report(self) -> TrialReport:
        """Return what was found so far."""
        paths = tuple(
            PathTrial(to, rule.rule.path, self._hits[to], self._values[to], self._samples.get(to, ""))
            for rule in self._mapper.rules
            for to in (rule.rule.to,)
        )
        return TrialReport(
            self._records, paths, dict(self._outcomes), tuple(self._bad), dict(self._mapper.filter_errors)
        )

    def _look(self, raw: bytes) -> None:
        try:
            record = msgspec.json.decode(self._mapper.to_json(raw))
        except (DataError, msgspec.DecodeError, msgspec.ValidationError, RecursionError):
            return
        for rule in self._mapper.rules:
            values = [value for value in rule.find(record) if value is not None]
            if values:
                self._hits[rule.rule.to] += 1
                self._values[rule.rule.to] += len(values)
                if rule.rule.to not in self._samples and (sample := _try_sample(rule, values[0])):
                    self._samples[rule.rule.to] = sample


def _try_sample(rule: CompiledRule, value: Any) -> str | None:
    try:
        for step in rule.convert:
            value = step(value)
    except ValueError:
        return None
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= SHOWN_CHARACTERS_MAX else f"{text[: SHOWN_CHARACTERS_MAX - 1]}…"
