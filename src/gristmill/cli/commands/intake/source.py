"""`gristmill source`: try a Source file on samples, publish it, and look at what is published."""

from __future__ import annotations

import getpass
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from cyclopts import App, Parameter
from rich.console import Console
from rich.table import Table

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import new_owner
from gristmill.cli.app import EXIT_FAULTY, EXIT_OK
from gristmill.cli.consoles import plain_console
from gristmill.cli.options import ConfigFile, StateDir, folder_of, load
from gristmill.domain.errors import UsageError
from gristmill.domain.front.times import write_second
from gristmill.domain.input_key import TENANT_DEFAULT
from gristmill.domain.log import NewRecord
from gristmill.intake.reader import FAULT_HEADER, open_input
from gristmill.intake.samples import read_samples
from gristmill.intake.sources.catalogue import KIND, load_source, publish_source
from gristmill.intake.sources.mapper import SourceMapper
from gristmill.intake.sources.trial import Trial, TrialReport
from gristmill.plans.names import advise_known
from gristmill.ports.definitions import Definition
from gristmill.runtime.composition.stores import open_sqlite
from gristmill.runtime.loop import run_async
from gristmill.runtime.reading.lookup import open_for_reading
from gristmill.runtime.reading.topic import read_topic
from gristmill.runtime.settings import Settings
from gristmill.runtime.spec import GroupSpec

__all__ = ["app"]

app = App(name="source")

SourceFile = Annotated[Path, Parameter(help="Source file (YAML).")]
Limit = Annotated[int, Parameter(help="Records to try.")]
LIMIT_DEFAULT = 1_000
SampleFile = Annotated[
    Path | None,
    Parameter(
        help="Sample: JSONL or CSV, plain or gzip, or Parquet. Of protobuf and Avro: a record, or a folder of them.",
        show_default=False,
    ),
]


@app.command(name="try")
def _try_file(
    file: SourceFile,
    /,
    *,
    input: SampleFile = None,
    topic: Annotated[str, Parameter(help="Take the sample from this topic of the log.", show_default=False)] = "",
    limit: Limit = LIMIT_DEFAULT,
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Map sample records and show what each path finds. Nothing is stored.

    Exit code 0: each record became an item or was filtered. 3: some are bad. 2: the file or the call is wrong.
    """
    mapper = load_source(file)
    if (input is None) == (not topic):
        raise UsageError("sample", advice="give --input FILE or --topic TOPIC, one of them")
    if input is not None:
        report = _run_trial(mapper, input, limit)
    else:
        records = run_async(read_topic(load(state=state, config=config).settings, topic, limit=limit))
        report = _try_records(mapper, (NewRecord(one.value) for one in records))
    _print_report(plain_console(), report)
    return EXIT_FAULTY if report.bad or not report.is_sound else EXIT_OK


@app.command(name="publish")
def _publish_file(
    file: SourceFile,
    /,
    *,
    input: SampleFile = None,
    limit: Limit = LIMIT_DEFAULT,
    expect: Annotated[
        int | None, Parameter(help="Revision that must be the latest; 0: none may exist.", show_default=False)
    ] = None,
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Publish a Source: running groups map by it within seconds, without a restart.

    With a sample it is tried first; if no record passes, nothing is published.

    Exit code 0: published, or published before with this content. 3: the trial failed. 2: the file or call is wrong.
    """
    mapper = load_source(file)
    if input is not None and not (report := _run_trial(mapper, input, limit)).is_sound:
        _print_report(plain_console(), report)
        return EXIT_FAULTY
    published = run_async(_publish(mapper, load(state=state, config=config).settings, expect))
    print(f"source {published.definition.address}: revision {published.revision}, hash {published.definition.hash}")
    return EXIT_OK


@app.command(name="ls")
def _list_sources(*, state: StateDir = None, config: ConfigFile = None) -> int:
    """List published Sources with their latest revision."""
    table = Table("source", "tenant", "revision", "hash", "published", "by", box=None, padding=(0, 2))
    for one in run_async(_read_latest(load(state=state, config=config).settings)):
        table.add_row(one.name, one.tenant, str(one.revision), one.hash, write_second(one.at_ms), one.actor)
    plain_console().print(table)
    return EXIT_OK


@app.command(name="show")
def _show_source(
    name: Annotated[str, Parameter(help="Name of the Source.")],
    /,
    *,
    tenant: Annotated[str, Parameter(help="Whose it is.")] = TENANT_DEFAULT,
    revision: Annotated[int | None, Parameter(help="Revision. [default: the latest]", show_default=False)] = None,
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Print a published Source as it was written, under a line for each of its revisions."""
    history = run_async(_read_history(load(state=state, config=config).settings, name, tenant))
    found = next((one for one in reversed(history) if revision in (None, one.revision)), None)
    if found is None:
        known = ", ".join(str(one.revision) for one in history)
        raise UsageError(f"revision of source {name!r}", value=revision, advice=f"known: {known}")
    for one in history:
        mark = "*" if one is found else " "
        print(f"#{mark} revision {one.revision}, {write_second(one.at_ms)}, hash {one.hash}, by {one.actor}")
    print(found.body, end="" if found.body.endswith("\n") else "\n")
    return EXIT_OK


def _run_trial(mapper: SourceMapper, path: Path, limit: int) -> TrialReport:
    if mapper.definition.schema is not None:
        return _try_records(mapper, islice(read_samples(path), limit))
    with TemporaryDirectory(prefix="gristmill-try-") as blobs:
        return _try_records(mapper, islice(_records(path, Path(blobs)), limit))


def _try_records(mapper: SourceMapper, records: Iterable[NewRecord]) -> TrialReport:
    trial = Trial(mapper)
    for record in records:
        trial.add(record.value, broken=record.headers.get(FAULT_HEADER, ""))
    return trial.report()


def _records(path: Path, blobs: Path) -> Iterator[NewRecord]:
    for batch in open_input(path).read(blobs=blobs):
        yield from batch


def _print_report(console: Console, report: TrialReport) -> None:
    table = Table("field", "path", "hits", "values", "sample", box=None, padding=(0, 2))
    for one in report.paths:
        share = f"{100 * one.hits / report.records:.1f} %" if report.records else ""
        table.add_row(one.to, one.path, share, str(one.values), one.sample)
    console.print(table)
    console.print(f"\n{report.records} records")
    for outcome, count in sorted(report.outcomes.items(), key=lambda pair: -pair[1]):
        console.print(f"  {count:>6}  {outcome}")
    for name, count in report.filter_errors.items():
        console.print(f"  filter {name} could not be judged {count} times")
    for bad in report.bad:
        console.print(f"record {bad.number} {bad.input_id}".rstrip() + " is bad:")
        for violation in bad.violations:
            console.print(f"  {violation}")


async def _publish(mapper: SourceMapper, settings: Settings, expect: int | None) -> SourceMapper:
    folder = folder_of(settings)
    folder.prepare()
    clock = SystemClock()
    store = open_sqlite(GroupSpec(state_dir=str(folder.path), settings=settings), clock, new_owner())
    try:
        return await publish_source(store.definitions, mapper, actor=getpass.getuser(), clock=clock, expected=expect)
    finally:
        await store.close()


async def _read_latest(settings: Settings) -> list[Definition]:
    async with open_for_reading(folder_of(settings), settings) as store:
        return list(await store.definitions.latest(KIND))


async def _read_history(settings: Settings, name: str, tenant: str) -> list[Definition]:
    async with open_for_reading(folder_of(settings), settings) as store:
        history = list(await store.definitions.history(KIND, name, tenant=tenant))
        if not history:
            known = [one.name for one in await store.definitions.latest(KIND) if one.tenant == tenant]
            raise UsageError(f"source of tenant {tenant!r}", value=name, advice=advise_known(name, known))
        return history
