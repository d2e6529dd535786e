"""The Sources of an installation: files and published revisions, and what a running process maps with.

A file is published by its content: what was published before, at any revision, changes nothing, so an old file that
lies about cannot undo what somebody published since.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from gristmill.domain.errors import ConfigError, GristmillError, Unavailable
from gristmill.domain.input_key import TENANT_DEFAULT
from gristmill.domain.intake import IntakeOutcome, LeftOut, MappedRecord, Violations
from gristmill.intake.codecs.schema_reader import embed_schema
from gristmill.intake.sources.mapper import SourceMapper, compile_source
from gristmill.intake.sources.reader import read_source
from gristmill.ports.clock import Clock
from gristmill.ports.definitions import Definition, Definitions

if TYPE_CHECKING:
    # The client library looks for the folder of its counters once, when it is imported: not before it is set.
    from gristmill.intake.metrics import IntakeMetrics

__all__ = ["KIND", "LiveSources", "load_source", "publish_source", "read_folder"]

KIND = "source"
LOOK_MS = 1_000
"""Between two looks for new revisions; a published one is live within this and a moment."""

SUFFIXES = (".yaml", ".yml")

_log = structlog.get_logger()


def load_source(path: Path, *, revision: int = 0) -> SourceMapper:
    """Read and compile a Source file, with the content of the schema file that it may name.

    Raises:
        ConfigError: it cannot be read, or something in it is wrong; names file and line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("source file cannot be read", value=str(path), advice=str(error)) from error
    text = embed_schema(text, file=path)
    return compile_source(read_source(text, file=str(path)), revision=revision, file=str(path))


def read_folder(paths: Iterable[str]) -> list[SourceMapper]:
    """Return the Sources in files, and in all YAML files of folders.

    Raises:
        ConfigError: one of them is wrong, or two have one name.
    """
    found: dict[str, tuple[Path, SourceMapper]] = {}
    for given in map(Path, paths):
        inside = sorted(path for path in given.iterdir() if path.suffix in SUFFIXES) if given.is_dir() else [given]
        for path in inside:
            mapper = load_source(path)
            address = mapper.definition.address
            if address in found:
                where = f"{found[address][0]} and {path}"
                raise ConfigError(f"two files define source {address!r}", value=where, advice="keep one of them")
            found[address] = (path, mapper)
    return [mapper for _, mapper in found.values()]


async def publish_source(
    definitions: Definitions,
    mapper: SourceMapper,
    *,
    actor: str,
    clock: Clock,
    expected: int | None = None,
    is_only_if_new: bool = False,
) -> SourceMapper:
    """Publish a Source and return it with its revision.

    Args:
        is_only_if_new: leave what is published alone where this content was ever published before.
    Raises:
        StaleRead: the latest revision is not `expected`.
    """
    definition = mapper.definition
    if is_only_if_new:
        history = await definitions.history(KIND, definition.name, tenant=definition.tenant)
        before = next((one for one in reversed(history) if one.hash == definition.hash), None)
        if before is not None:
            return compile_source(definition, revision=before.revision)
    new = Definition(
        kind=KIND,
        tenant=definition.tenant,
        name=definition.name,
        revision=0,
        hash=definition.hash,
        at_ms=clock.now_ms(),
        actor=actor,
        body=definition.text,
    )
    stored = await definitions.publish(new, expected=expected)
    return compile_source(definition, revision=stored.revision)


class LiveSources:
    """The latest published revision of each Source, taken up while the process runs.

    Args:
        pinned: Sources that stay as they are, whatever is published.
    """

    def __init__(self, definitions: Definitions, clock: Clock, *, pinned: Sequence[SourceMapper] = ()) -> None:
        self._definitions = definitions
        self._clock = clock
        self._pinned = {mapper.definition.address: mapper for mapper in pinned}
        self._mappers: dict[str, SourceMapper] = dict(self._pinned)
        self._unusable: set[str] = set()
        self._version = -1
        self._tally: Counter[tuple[str, IntakeOutcome, str]] = Counter()

    def find(self, address: str) -> SourceMapper | None:
        """Return the Source that a generator names, None where there is none."""
        return self._mappers.get(address)

    def is_unusable(self, address: str) -> bool:
        """Whether a Source of this name is published that this process cannot map by."""
        return address in self._unusable

    def count(self, address: str, found: MappedRecord | Violations | LeftOut) -> None:
        """Note what became of a record."""
        match found:
            case MappedRecord():
                self._tally[address, "accepted", ""] += 1
            case Violations(reason=reason):
                self._tally[address, "quarantined", reason] += 1
            case LeftOut(outcome=outcome, reason=reason):
                self._tally[address, outcome, reason] += 1

    def hand_over(self, metrics: IntakeMetrics) -> None:
        """Move what was counted into metrics; a call for each record would cost more than a small task."""
        tally, self._tally = self._tally, Counter()
        for (address, outcome, reason), count in tally.items():
            metrics.records.labels(address, outcome, reason).inc(count)
        for address, mapper in self._mappers.items():
            for name, count in mapper.take_filter_errors().items():
                metrics.filter_errors.labels(address, name).inc(count)

    async def refresh(self) -> None:
        """Take up what was published since the last look.

        Raises:
            Unavailable: the registry cannot be asked; what is there goes on working.
        """
        version = await self._definitions.version()
        if version == self._version:
            return
        mappers = dict(self._mappers)
        unusable: set[str] = set()
        for stored in await self._definitions.latest(KIND):
            address = stored.name if stored.tenant == TENANT_DEFAULT else f"{stored.tenant}/{stored.name}"
            known = mappers.get(address)
            if address in self._pinned or (known is not None and known.revision == stored.revision):
                continue
            mapper = _try_compile(stored)
            if mapper is not None:
                mappers[address] = mapper
            elif address not in mappers:
                unusable.add(address)
        # As a whole, between two records: no record is mapped by half an old and half a new revision.
        self._mappers, self._unusable = mappers, unusable
        self._version = version

    async def run(self, metrics: IntakeMetrics | None = None) -> None:
        """Look for new revisions every second, for ever, and hand over what was counted meanwhile."""
        while True:
            await self._clock.sleep_ms(LOOK_MS)
            if metrics is not None:
                self.hand_over(metrics)
            try:
                await self.refresh()
            except Unavailable as error:
                _log.warning("sources cannot be looked up", error=str(error))


def _try_compile(stored: Definition) -> SourceMapper | None:
    """Compile a published revision; one that this program cannot read leaves the earlier one at work."""
    try:
        mapper = compile_source(read_source(stored.body, file=stored.name), revision=stored.revision)
    except GristmillError as error:
        _log.error("published source cannot be used", source=stored.name, revision=stored.revision, error=str(error))
        return None
    _log.info("source is live", source=stored.name, revision=stored.revision)
    return mapper
