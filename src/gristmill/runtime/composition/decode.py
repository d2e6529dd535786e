"""Maps the records of each generator the way its Source wants it."""

from __future__ import annotations

from collections.abc import Mapping

from gristmill.domain.intake import MappedRecord, Violations
from gristmill.domain.log import Delivery
from gristmill.intake.fields import FieldMap
from gristmill.intake.mapping import RecordMapper
from gristmill.intake.reader import FAULT_HEADER, LINE_HEADER
from gristmill.plans.plan import Generator

__all__ = ["RecordDecoder", "fallback_id_of"]


class RecordDecoder:
    """What an engine calls for each record; see `engine.work.admit.Decode`."""

    def __init__(self, field_maps: Mapping[str, FieldMap]) -> None:
        self._field_maps = field_maps
        self._mappers: dict[str, RecordMapper] = {}

    def __call__(self, delivery: Delivery, generator: Generator) -> MappedRecord | Violations:
        """Return the record mapped, or all its faults."""
        return self.mapper(generator).map(
            delivery.value,
            fallback_id=fallback_id_of(delivery.headers, delivery.lease.offset),
            broken=delivery.headers.get(FAULT_HEADER, ""),
        )

    def mapper(self, generator: Generator) -> RecordMapper:
        """Return the mapper of a generator's records."""
        mapper = self._mappers.get(generator.type)
        if mapper is None:
            fields = self._field_maps.get(generator.type, FieldMap())
            mapper = RecordMapper(fields, source=generator.source or generator.topic, kind=generator.kind)
            self._mappers[generator.type] = mapper
        return mapper


def fallback_id_of(headers: Mapping[str, str], offset: int) -> str:
    """Return the input id of a record that brings none: its line in a file, or its offset in the log."""
    line = headers.get(LINE_HEADER)
    return f"line-{line}" if line else f"record-{offset}"
