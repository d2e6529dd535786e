"""Maps the records of each generator the way its Source wants it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gristmill.domain.errors import UsageError
from gristmill.domain.intake import LeftOut, MappedRecord, Violations
from gristmill.domain.log import Delivery
from gristmill.intake.fields import FieldMap
from gristmill.intake.mapping import RecordMapper
from gristmill.intake.publish.native import INPUT_ID_HEADER, NATIVE, SOURCE_HEADER, attribute
from gristmill.intake.reader import FAULT_HEADER, LINE_HEADER
from gristmill.intake.sources.catalogue import LiveSources
from gristmill.intake.sources.mapper import SourceMapper
from gristmill.plans.plan import Generator

__all__ = ["RecordDecoder", "fallback_id_of"]


class RecordDecoder:
    """What an engine calls for each record; see `engine.work.admit.Decode`.

    Args:
        sources: a generator whose `source` is one of them is mapped by it; any other automatically.
        foreign: topics that somebody else writes, whose headers mean nothing to us.
    """

    def __init__(
        self,
        field_maps: Mapping[str, FieldMap],
        sources: LiveSources | None = None,
        *,
        foreign: Collection[str] = (),
    ) -> None:
        self._field_maps = field_maps
        self._sources = sources
        self._foreign = frozenset(foreign)
        self._mappers: dict[str, RecordMapper] = {}

    def __call__(self, delivery: Delivery, generator: Generator) -> MappedRecord | Violations | LeftOut:
        """Return the record mapped, all its faults, or that it is left out."""
        headers = {} if delivery.lease.topic in self._foreign else delivery.headers
        live = self._sources.find(generator.source) if self._sources is not None else None
        if live is None and self._sources is not None and self._sources.is_unusable(generator.source):
            # Another process may be able to: the record is tried again later, not taken for what it is not.
            raise UsageError("published source cannot be used", value=generator.source, advice="see the log for why")
        named = self._named(headers[SOURCE_HEADER]) if self._names_source(generator, headers) else None
        mapped = (named or live or self._automatic(generator)).map(
            delivery.value,
            fallback_id=fallback_id_of(headers, delivery.lease.offset),
            broken=headers.get(FAULT_HEADER, ""),
        )
        if self._sources is not None and live is not None:
            self._sources.count(generator.source, mapped)
        if not headers or isinstance(mapped, LeftOut):
            return mapped
        return attribute(mapped, headers, generator)

    def mapper(self, generator: Generator) -> RecordMapper | SourceMapper:
        """Return the mapper of a generator's records, as it is now."""
        source = self._sources.find(generator.source) if self._sources is not None else None
        return source or self._automatic(generator)

    def _names_source(self, generator: Generator, headers: Mapping[str, str]) -> bool:
        return generator.type == NATIVE and SOURCE_HEADER in headers

    def _named(self, address: str) -> SourceMapper:
        source = self._sources.find(address) if self._sources is not None else None
        if source is None:
            # Not a fault of the record: this process may not have looked yet, so the record is tried again later.
            raise UsageError("source of a published record", value=address, advice="publish the Source again")
        return source

    def _automatic(self, generator: Generator) -> RecordMapper:
        mapper = self._mappers.get(generator.type)
        if mapper is None:
            fields = self._field_maps.get(generator.type, FieldMap())
            mapper = RecordMapper(fields, source=generator.source or generator.topic, kind=generator.kind)
            self._mappers[generator.type] = mapper
        return mapper


def fallback_id_of(headers: Mapping[str, str], offset: int) -> str:
    """Return the input id of a record that brings none: what publishing gave it, its line, or its offset in the log."""
    if INPUT_ID_HEADER in headers:
        return headers[INPUT_ID_HEADER]
    line = headers.get(LINE_HEADER)
    return f"line-{line}" if line else f"record-{offset}"
