"""Dead letters listed one by one or by cause, shown, and those that were closed; and the quarantine."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter
from rich.table import Table

from gristmill.api.desk.causes import Cause, list_causes, read_outlines
from gristmill.cli.app import EXIT_OK
from gristmill.cli.commands.letters.app import Limit, Number, app, error_of, find_letter, tell, whoever_calls
from gristmill.cli.consoles import plain_console
from gristmill.cli.options import ConfigFile, StateDir, folder_of, load
from gristmill.domain.errors import UsageError
from gristmill.domain.front.times import write_second
from gristmill.domain.log import DeadLetter
from gristmill.domain.upkeep.closing import Closing
from gristmill.runtime.loop import run_async
from gristmill.runtime.reading.lookup import open_for_reading

__all__: list[str] = []

HEAD_BYTES = 120


@app.command(name="ls")
def _list_letters(
    *,
    topic: str = "",
    limit: Limit = 100,
    causes: Annotated[bool, Parameter(negative="", help="Put together by plan, task and error.")] = False,
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """List records that were given up, oldest first."""
    settings = load(state=state, config=config).settings

    async def read() -> tuple[list[DeadLetter], list[Cause]]:
        async with open_for_reading(folder_of(settings), settings) as store:
            if causes:
                found = await read_outlines(store.log, whoever_calls(), topic=topic)
                return found.letters, await list_causes(found.letters)
            return await store.log.dead_letters(topic=topic, limit=limit, has_values=False), []

    letters, by_cause = run_async(read())
    table = _table_of_causes(by_cause[:limit]) if causes else _table_of_letters(letters)
    plain_console().print(table if letters else "no dead letters")
    return EXIT_OK


def _table_of_letters(letters: list[DeadLetter]) -> Table:
    table = Table("number", "topic", "record", "attempts", "failed", "error", box=None, padding=(0, 2))
    for letter in letters:
        error = error_of(letter).splitlines()[0][:HEAD_BYTES]
        failed_at = write_second(letter.failed_at_ms)
        row = (str(letter.dead_letter_id), letter.topic, str(letter.offset), str(letter.attempt), failed_at, error)
        table.add_row(*row)
    return table


def _table_of_causes(causes: list[Cause]) -> Table:
    table = Table("cause", "letters", "plans", "task", "last failed", "error", box=None, padding=(0, 2))
    for cause in causes:
        diagnosis = cause.sample.diagnosis
        error = error_of(cause.sample).splitlines()[0][:HEAD_BYTES]
        plans, count = ", ".join(diagnosis.plans) or "-", str(len(cause.letters))
        last = write_second(cause.last_ms)
        table.add_row(cause.fingerprint, count, plans, diagnosis.task or "-", last, error)
    return table


@app.command(name="show")
def _show_letter(
    number: Number,
    /,
    *,
    payload: Annotated[bool, Parameter(negative="", help="The payload alone, byte for byte.")] = False,
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Show one of them: record, diagnosis, history."""
    settings = load(state=state, config=config).settings

    async def read() -> DeadLetter:
        async with open_for_reading(folder_of(settings), settings) as store:
            return await find_letter(store.log, number)

    letter = run_async(read())
    if payload:
        sys.stdout.buffer.write(letter.value)
        sys.stdout.flush()
        return EXIT_OK
    diagnosis = letter.diagnosis
    tell(f"dead letter {letter.dead_letter_id}: record {letter.offset} of {letter.topic}, group {letter.group}")
    tell(f"failed {write_second(letter.failed_at_ms)} at attempt {letter.attempt}")
    tell(f"error {error_of(letter)}")
    tell(f"plans {', '.join(diagnosis.plans) or '-'}, task {diagnosis.task or '-'}")
    for at_ms, owner, text in diagnosis.history:
        tell(f"  {write_second(at_ms)} {owner}: {text}")
    for name, value in letter.headers.items():
        tell(f"header {name}: {value[:HEAD_BYTES]}")
    tell(letter.value.decode("utf-8", "replace"))
    return EXIT_OK


@app.command(name="closed")
def _list_closed(
    number: Annotated[int | None, Parameter(help="One of them, with both payloads of an edit.")] = None,
    /,
    *,
    limit: Limit = 100,
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """List dead letters that were closed, the newest first: what was done, by whom and why."""
    settings = load(state=state, config=config).settings

    async def read() -> list[Closing]:
        async with open_for_reading(folder_of(settings), settings) as store:
            if number is None:
                return await store.closings.before(None, limit=limit)
            found = await store.closings.find(number)
            return [found] if found is not None else []

    closings = run_async(read())
    if number is not None:
        _show_closing(closings, number)
        return EXIT_OK
    table = Table("number", "letter", "what", "when", "who", "reason", "error", box=None, padding=(0, 2))
    for one in closings:
        error = one.diagnosis.error[:HEAD_BYTES]
        told = (one.kind, write_second(one.at_ms), one.actor, one.reason or "-", error)
        table.add_row(str(one.closing_id), str(one.dead_letter_id), *told)
    plain_console().print(table if closings else "no dead letter was closed")
    return EXIT_OK


def _show_closing(closings: list[Closing], number: int) -> None:
    if not closings:
        raise UsageError("closed dead letter", value=number, advice="see `gristmill dlq closed`")
    [one] = closings
    tell(f"dead letter {one.dead_letter_id} {one.kind} {write_second(one.at_ms)} by {one.actor}")
    tell(f"reason {one.reason or '-'}")
    if one.kind == "edited":
        tell(f"original {one.original.decode('utf-8', 'replace')}")
        tell(f"edited {one.edited.decode('utf-8', 'replace')}")


@app.command(name="quarantine")
def _list_quarantine(*, limit: Limit = 100, state: StateDir = None, config: ConfigFile = None) -> int:
    """List records that never became an item, with every violation and how they begin."""
    settings = load(state=state, config=config).settings

    async def read() -> None:
        async with open_for_reading(folder_of(settings), settings) as store:
            entries = await store.state.quarantined(limit=limit)
        for entry in entries:
            head = entry.raw[:HEAD_BYTES].decode("utf-8", "backslashreplace")
            tell(f"{entry.quarantine_id} record {entry.position} of {entry.source}: {'; '.join(entry.violations)}")
            tell(f"    {head!r}")
        if not entries:
            print("quarantine is empty")

    run_async(read())
    return EXIT_OK
