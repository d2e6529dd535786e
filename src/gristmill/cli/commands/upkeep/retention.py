"""`gristmill retention` and `gristmill compact`: what the store holds and lets go of, and the space of its file."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.table import Table

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import new_owner
from gristmill.cli.app import EXIT_OK
from gristmill.cli.consoles import plain_console, write_out_steering
from gristmill.cli.options import ConfigFile, FlowFiles, StateDir, as_texts, folder_of, load, state_folder
from gristmill.domain.errors import UsageError
from gristmill.domain.upkeep.retention import TableUse
from gristmill.intake.publish import native_generator
from gristmill.runtime.composition.flows import load_flows
from gristmill.runtime.composition.stores import open_upkeep
from gristmill.runtime.folder import GroupLock
from gristmill.runtime.loop import run_async
from gristmill.runtime.retention.rules import rules_of
from gristmill.runtime.retention.topics import read_lossy
from gristmill.runtime.settings_sources import LoadedSettings
from gristmill.runtime.spec import GroupSpec

__all__ = ["compact", "retention"]

HELD_SHOWN_MAX = 20


def retention(
    *,
    now: Annotated[bool, Parameter(negative="", help="Let go of what is due, then show what is left.")] = False,
    clock_is_right: Annotated[
        bool, Parameter(negative="", help="With --now, though nobody has swept for longer than a day.")
    ] = False,
    flow: FlowFiles = (),
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Show what each table holds, what lets its rows go, and when. A running group lets go every 30 s by itself.

    With --now give the --flow files that `gristmill up` is given: what their generators still have to claim stays.
    Where the last sweep is longer ago than a day, ages are counted as of a day after it, in case the clock is wrong.
    """
    loaded = load(state=state, config=config)
    folder = folder_of(loaded.settings)
    folder.require()
    if clock_is_right and not now:
        raise UsageError("--clock-is-right without --now", value="", advice="give both to let go of what is due")
    run_async(_show(loaded, flow, is_sweeping=now, is_clock_right=clock_is_right))
    return EXIT_OK


def compact(*, state: StateDir = None, config: ConfigFile = None) -> int:
    """Give the space of rows that are gone back to the disk; no group may be running.

    The store is written anew: it takes up to its own size beside it, and a few seconds a gigabyte. Without it the space
    is used for new rows, so only a store that will stay small needs it.
    """
    folder = state_folder(state, config)
    folder.require()
    from gristmill.adapters.sqlite.file.connection import StoreFile
    from gristmill.adapters.sqlite.upkeep import compact_store

    lock = GroupLock(folder, purpose="gristmill compact")
    try:
        before = folder.store_file.stat().st_size
        compact_store(StoreFile(folder.store_file))
        print(f"store: {before} bytes before, {folder.store_file.stat().st_size} bytes now")
    finally:
        lock.close()
    return EXIT_OK


async def _show(loaded: LoadedSettings, flow: Sequence[Path], *, is_sweeping: bool, is_clock_right: bool) -> None:
    clock, settings = SystemClock(), loaded.settings
    registry = load_flows(settings, flow_files=as_texts(flow)).registry
    generators = [*registry.generators.values(), *([native_generator(())] if settings.api.enabled else [])]
    rules = rules_of(settings.store.retention, generators, lossy=read_lossy(settings.log))
    store = open_upkeep(GroupSpec(state_dir=settings.main.state_dir, settings=settings), clock, new_owner())
    try:
        if is_sweeping:
            now_ms = clock.now_ms()
            deleted = await store.upkeep.sweep(rules, now_ms=now_ms, is_clock_right=is_clock_right)
            told = ", ".join(f"{count} of {table}" for table, count in sorted(deleted.items()))
            print(f"rows let go: {told or 'none'}")
            _tell_leap(store.upkeep.as_of_ms, now_ms)
        uses = await store.upkeep.measure(rules)
        held = await store.upkeep.held(rules)
        free = await store.upkeep.free_bytes()
    finally:
        await store.close()
    plain_console().print(_table(uses, now_ms=clock.now_ms()))
    for one in held[:HELD_SHOWN_MAX]:
        behind = f"group {one.group} is the furthest behind" if one.group else "no group has claimed yet"
        since = _moment(one.oldest_at_ms)
        print(f"topic {write_out_steering(one.topic)}: {one.records} records from {since} on, {behind}")
    print(f"free inside the file, for new rows: {free} bytes; `gristmill compact` gives them back")


def _tell_leap(as_of_ms: int | None, now_ms: int) -> None:
    if as_of_ms is not None and as_of_ms < now_ms:
        print(
            f"ages were counted as of {_moment(as_of_ms)}: nobody had swept for long, or the clock is wrong. "
            "If it is right, add --clock-is-right"
        )


def _table(uses: Sequence[TableUse], *, now_ms: int) -> Table:
    table = Table("table", "rows", "bytes", "oldest", "next", "rule", box=None, padding=(0, 2))
    for use in sorted(uses, key=lambda use: -use.bytes):
        row = (f"{use.rows}", f"{use.bytes}", _moment(use.oldest_at_ms), _next(use, now_ms), use.rule)
        table.add_row(use.name, *row)
    return table


def _next(use: TableUse, now_ms: int) -> str:
    if use.due_at_ms is None:
        return "-"
    return "now" if use.due_at_ms <= now_ms else _moment(use.due_at_ms)


def _moment(at_ms: int | None) -> str:
    if at_ms is None:
        return "-"
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M")
