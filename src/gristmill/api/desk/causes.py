"""Why records were given up: dead letters put together by what went wrong."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterable

import msgspec

from gristmill.api.problems import problem
from gristmill.api.reading.letters import is_visible
from gristmill.domain.front.access import Principal
from gristmill.domain.log import DeadLetter
from gristmill.ports.log import Log

__all__ = [
    "LETTERS_MAX",
    "Cause",
    "OpenLetters",
    "choose_letters",
    "compute_fingerprint",
    "find_cause",
    "list_causes",
    "read_outlines",
]

LETTERS_MAX = 10_000
"""Looked at for one answer; about 100 ms."""

OUTLINES_PER_READ = 1_000
GROUPED_AT_ONCE = 200
"""Some milliseconds, where errors are long."""

FINGERPRINT_CHARS = 12

# What differs between failures of one cause: ids, numbers, and what a message quotes.
VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|(?<![\w.-])[\w.-]*\d[\w.-]*|\b[a-fA-F]{8,}\b")


class OpenLetters(msgspec.Struct, frozen=True):
    """Open dead letters without their values, oldest first; `is_whole` unless there are more than LETTERS_MAX."""

    letters: list[DeadLetter]
    is_whole: bool


class Cause(msgspec.Struct, frozen=True):
    """What dead letters have in common, with the letters.

    Attributes:
        letters: oldest first.
    """

    fingerprint: str
    letters: list[DeadLetter]

    @property
    def sample(self) -> DeadLetter:
        """The newest of them."""
        return self.letters[-1]

    @property
    def first_ms(self) -> int:
        return min(letter.failed_at_ms for letter in self.letters)

    @property
    def last_ms(self) -> int:
        return max(letter.failed_at_ms for letter in self.letters)


def compute_fingerprint(letter: DeadLetter) -> str:
    """Return what letters of the same plans, task and error have in common, whatever numbers their errors name."""
    diagnosis = letter.diagnosis
    first_line = diagnosis.error_text.partition("\n")[0]
    parts = (*sorted(diagnosis.plans), diagnosis.task, diagnosis.error_class, VARYING.sub("?", first_line))
    text = "\x00".join(parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:FINGERPRINT_CHARS]


async def list_causes(letters: Iterable[DeadLetter]) -> list[Cause]:
    """Return the causes of letters that come oldest first, the one with the newest failure first.

    Others have their turn meanwhile.
    """
    by_fingerprint: dict[str, list[DeadLetter]] = {}
    for number, letter in enumerate(letters, start=1):
        if number % GROUPED_AT_ONCE == 0:
            await asyncio.sleep(0)
        by_fingerprint.setdefault(compute_fingerprint(letter), []).append(letter)
    found = [Cause(fingerprint, members) for fingerprint, members in by_fingerprint.items()]
    return sorted(found, key=lambda cause: (-cause.last_ms, cause.fingerprint))


async def read_outlines(log: Log, principal: Principal, *, topic: str = "", group: str = "") -> OpenLetters:
    """Return the open letters that somebody may see, without their values."""
    visible: list[DeadLetter] = []
    after = 0
    for _ in range(LETTERS_MAX // OUTLINES_PER_READ):
        page = await log.dead_letters(topic=topic, group=group, after=after, limit=OUTLINES_PER_READ, has_values=False)
        visible += [letter for letter in page if is_visible(letter, principal)]
        if len(page) < OUTLINES_PER_READ:
            return OpenLetters(visible, is_whole=True)
        after = page[-1].dead_letter_id
    return OpenLetters(visible, is_whole=False)


async def find_cause(log: Log, principal: Principal, fingerprint: str) -> tuple[OpenLetters, Cause]:
    """Return a cause among the open letters that somebody may see.

    Raises:
        ProblemRaised: `not-found`: no open letter has it.
    """
    found = await read_outlines(log, principal)
    for cause in await list_causes(found.letters):
        if cause.fingerprint == fingerprint:
            return found, cause
    raise problem("not-found", "no open dead letter of this cause; they may have been requeued or dropped")


def choose_letters(cause: Cause, *, upto: int, count: int) -> list[DeadLetter]:
    """Return the letters of a cause that somebody was shown, the last of them with the number `upto`.

    Raises:
        ProblemRaised: `conflict`: there are more or fewer than `count` of them now.
    """
    chosen = [letter for letter in cause.letters if letter.dead_letter_id <= upto]
    if len(chosen) != count:
        raise problem("conflict", f"{len(chosen)} letters instead of {count} are open now")
    return chosen
