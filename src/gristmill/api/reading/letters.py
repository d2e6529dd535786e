"""Dead letters: found, put together by what went wrong, and closed, for every face alike."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
import structlog

from gristmill.api.problems import problem
from gristmill.domain.front.access import Principal
from gristmill.domain.log import DeadLetter
from gristmill.intake.publish.native import tenant_of
from gristmill.ports.log import Log

__all__ = [
    "LETTERS_MAX",
    "Cause",
    "Closing",
    "OpenLetters",
    "close_letter",
    "compute_fingerprint",
    "find_letter",
    "list_causes",
    "read_outlines",
    "visible_letters",
]

Closing = Literal["requeued", "dropped"]

LETTERS_MAX = 10_000
"""Looked at for one answer; about 100 ms."""

OUTLINES_PER_READ = 1_000
GROUPED_AT_ONCE = 200
"""Some milliseconds, where errors are long."""

FINGERPRINT_CHARS = 12

# What differs between failures of one cause: ids, numbers, and what a message quotes.
VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\b(?:0x)?[0-9a-fA-F]{8,}\b|\d+")

_log = structlog.get_logger()


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
        visible += [letter for letter in page if _is_visible(letter, principal)]
        if len(page) < OUTLINES_PER_READ:
            return OpenLetters(visible, is_whole=True)
        after = page[-1].dead_letter_id
    return OpenLetters(visible, is_whole=False)


async def find_letter(log: Log, principal: Principal, number: int) -> DeadLetter:
    """Return an open letter.

    Raises:
        ProblemRaised: `not-found`: there is none, or it is another tenant's.
    """
    letters = await log.dead_letters(after=number - 1, limit=1)
    if not letters or letters[0].dead_letter_id != number or not _is_visible(letters[0], principal):
        raise problem("not-found", f"dead letter {number}")
    return letters[0]


async def close_letter(
    log: Log, principal: Principal, letter: DeadLetter, closing: Closing, *, reason: str = ""
) -> bool:
    """Give the record of a letter another chance, or none ever; False where somebody else was quicker."""
    close = log.requeue if closing == "requeued" else log.drop
    if not await close(letter.dead_letter_id):
        return False
    told = {"reason": reason} if reason else {}
    _log.info("dead letter", dead_letter_id=letter.dead_letter_id, status=closing, actor=principal.name, **told)
    return True


def visible_letters(letters: Sequence[DeadLetter], principal: Principal) -> list[DeadLetter]:
    """Return those that somebody may see."""
    return [letter for letter in letters if _is_visible(letter, principal)]


def _is_visible(letter: DeadLetter, principal: Principal) -> bool:
    return principal.sees(tenant_of(letter.headers, letter.topic))
