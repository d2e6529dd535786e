"""What the commands of `gristmill dlq` share."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from gristmill.api.problems import ProblemRaised
from gristmill.cli.consoles import write_out_steering
from gristmill.domain.errors import UsageError
from gristmill.domain.front.access import EVERY_TENANT, Principal
from gristmill.domain.log import DeadLetter
from gristmill.ports.log import Log
from gristmill.runtime.folder import StateFolder
from gristmill.runtime.settings import Settings
from gristmill.runtime.telemetry import configure_logging

__all__ = ["Limit", "Number", "app", "error_of", "find_letter", "log_to", "refusing", "tell", "whoever_calls"]

app = App(name="dlq")

Limit = Annotated[int, Parameter(help="Most entries to list.")]
Number = Annotated[int, Parameter(help="As `dlq ls` lists it.")]


def whoever_calls() -> Principal:
    """Return who works at this machine, who may do anything here."""
    return Principal("", f"{getpass.getuser()} at the command line", "admin", EVERY_TENANT)


async def find_letter(log: Log, number: int) -> DeadLetter:
    """Return an open dead letter with its payload.

    Raises:
        UsageError: there is none of that number.
    """
    letters = await log.dead_letters(after=number - 1, limit=1)
    if not letters or letters[0].dead_letter_id != number:
        raise UsageError("dead letter", value=number, advice="see `gristmill dlq ls`")
    return letters[0]


@contextmanager
def refusing(number: int) -> Iterator[None]:
    """Tell what the desk refuses as a mistake of the call."""
    try:
        yield
    except ProblemRaised as raised:
        faults = "; ".join(f"{fault.pointer} {fault.message}".strip() for fault in raised.document.errors)
        raise UsageError("dead letter", value=number, advice=faults or raised.document.detail) from raised


def log_to(settings: Settings, folder: StateFolder) -> None:
    """Have what is done told in the log of the state folder."""
    configure_logging("main", level="info", file=Path(settings.main.log_file or folder.log_file))


def error_of(letter: DeadLetter) -> str:
    """Return class and text of what went wrong, the class once."""
    return letter.diagnosis.error


def tell(text: str) -> None:
    """Print what others wrote, steering characters visible."""
    print(write_out_steering(text))
