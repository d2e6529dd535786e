"""`gristmill dlq`: records that were given up, and what to do with them; and those that never became an item."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.table import Table

from gristmill.api.reading.letters import close_letter
from gristmill.cli.app import EXIT_OK
from gristmill.cli.consoles import plain_console, write_out_steering
from gristmill.cli.options import ConfigFile, StateDir, folder_of, load
from gristmill.domain.errors import UsageError
from gristmill.domain.front.access import EVERY_TENANT, Principal
from gristmill.domain.front.times import write_second
from gristmill.domain.log import DeadLetter
from gristmill.ports.log import Log
from gristmill.runtime.loop import run_async
from gristmill.runtime.reading.lookup import open_for_reading
from gristmill.runtime.telemetry import configure_logging

__all__ = ["app"]

app = App(name="dlq")

PAGE = 1_000
HEAD_BYTES = 120
Limit = Annotated[int, Parameter(help="Most entries to list.")]


@app.command(name="ls")
def _list_letters(*, topic: str = "", limit: Limit = 100, state: StateDir = None, config: ConfigFile = None) -> int:
    """List records that were given up, oldest first."""
    settings = load(state=state, config=config).settings

    async def read() -> list[DeadLetter]:
        async with open_for_reading(folder_of(settings), settings) as store:
            return await store.log.dead_letters(topic=topic, limit=limit, has_values=False)

    letters = run_async(read())
    table = Table("number", "topic", "record", "attempts", "failed", "error", box=None, padding=(0, 2))
    for letter in letters:
        error = _error_of(letter).splitlines()[0][:HEAD_BYTES]
        failed_at = write_second(letter.failed_at_ms)
        row = (str(letter.dead_letter_id), letter.topic, str(letter.offset), str(letter.attempt), failed_at, error)
        table.add_row(*row)
    console = plain_console()
    console.print(table if letters else "no dead letters")
    return EXIT_OK


@app.command(name="show")
def _show_letter(
    number: Annotated[int, Parameter(help="As `dlq ls` lists it.")],
    /,
    *,
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Show one of them: record, diagnosis, history."""
    settings = load(state=state, config=config).settings

    async def read() -> DeadLetter:
        async with open_for_reading(folder_of(settings), settings) as store:
            return await _find_letter(store.log, number)

    letter = run_async(read())
    diagnosis = letter.diagnosis
    _tell(f"dead letter {letter.dead_letter_id}: record {letter.offset} of {letter.topic}, group {letter.group}")
    _tell(f"failed {write_second(letter.failed_at_ms)} at attempt {letter.attempt}")
    _tell(f"error {_error_of(letter)}")
    _tell(f"plans {', '.join(diagnosis.plans) or '-'}, task {diagnosis.task or '-'}")
    for at_ms, owner, text in diagnosis.history:
        _tell(f"  {write_second(at_ms)} {owner}: {text}")
    for name, value in letter.headers.items():
        _tell(f"header {name}: {value[:HEAD_BYTES]}")
    _tell(letter.value.decode("utf-8", "replace"))
    return EXIT_OK


@app.command(name="requeue")
def _requeue_letters(
    numbers: Annotated[tuple[int, ...], Parameter(help="As `dlq ls` lists them; none with --all.")] = (),
    /,
    *,
    all: Annotated[bool, Parameter(negative="", help="Requeue every dead letter.")] = False,
    topic: Annotated[str, Parameter(help="With --all: of this topic alone.", show_default=False)] = "",
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Make them records again, with a fresh budget of attempts. The next `run` or a running group takes them."""
    if bool(numbers) == all:
        raise UsageError("which dead letters", advice="name numbers of `gristmill dlq ls`, or give --all")
    settings = load(state=state, config=config).settings

    async def requeue() -> int:
        async with open_for_reading(folder_of(settings), settings) as store:
            chosen = numbers or await _list_all(store.log, topic)
            count = 0
            for number in chosen:
                if not await store.log.requeue(number):
                    raise UsageError("dead letter", value=number, advice=f"{count} requeued; see `gristmill dlq ls`")
                count += 1
            return count

    print(f"requeued: {run_async(requeue())}")
    return EXIT_OK


@app.command(name="drop")
def _drop_letter(
    number: Annotated[int, Parameter(help="As `dlq ls` lists it.")],
    /,
    *,
    reason: Annotated[str, Parameter(help="Why nobody needs it any more; kept in the log of the state folder.")],
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Close one of them for good: its record never comes back."""
    if not reason.strip():
        raise UsageError("reason", value=reason, advice="say why: it is all that will be left")
    settings = load(state=state, config=config).settings
    folder = folder_of(settings)

    async def drop() -> bool:
        async with open_for_reading(folder, settings) as store:
            letter = await _find_letter(store.log, number)
            configure_logging("main", level="info", file=Path(settings.main.log_file or folder.log_file))
            return await close_letter(store.log, _whoever_calls(), letter, "dropped", reason=reason.strip())

    if not run_async(drop()):
        raise _unknown(number)
    print(f"dropped: {number}")
    return EXIT_OK


@app.command(name="quarantine")
def _list_quarantine(*, limit: Limit = 100, state: StateDir = None, config: ConfigFile = None) -> int:
    """List records that never became an item, with every violation and how they begin."""
    settings = load(state=state, config=config).settings

    async def read() -> None:
        async with open_for_reading(folder_of(settings), settings) as store:
            entries = await store.state.quarantined(limit=limit)
        for entry in entries:
            head = entry.raw[:HEAD_BYTES].decode("utf-8", "backslashreplace")
            _tell(f"{entry.quarantine_id} record {entry.position} of {entry.source}: {'; '.join(entry.violations)}")
            _tell(f"    {head!r}")
        if not entries:
            print("quarantine is empty")

    run_async(read())
    return EXIT_OK


def _whoever_calls() -> Principal:
    """Return who works at this machine, who may do anything here."""
    return Principal("", f"{getpass.getuser()} at the command line", "admin", EVERY_TENANT)


async def _list_all(log: Log, topic: str) -> list[int]:
    """Return the number of every dead letter there is now: one that fails again meanwhile is not requeued twice."""
    numbers: list[int] = []
    while True:
        page = await log.dead_letters(topic=topic, after=numbers[-1] if numbers else 0, limit=PAGE)
        numbers += [letter.dead_letter_id for letter in page]
        if len(page) < PAGE:
            return numbers


async def _find_letter(log: Log, number: int) -> DeadLetter:
    """Return an open dead letter.

    Raises:
        UsageError: there is none of that number.
    """
    letters = await log.dead_letters(after=number - 1, limit=1)
    if not letters or letters[0].dead_letter_id != number:
        raise _unknown(number)
    return letters[0]


def _unknown(number: int) -> UsageError:
    return UsageError("dead letter", value=number, advice="see `gristmill dlq ls`")


def _error_of(letter: DeadLetter) -> str:
    """Return class and text of what went wrong, the class once."""
    name, text = letter.diagnosis.error_class, letter.diagnosis.error_text
    return text if text.startswith(name) and text else f"{name}: {text}"


def _tell(text: str) -> None:
    print(write_out_steering(text))
