"""Dead letters found, and read a page at a time, for every face alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gristmill.api.problems import problem
from gristmill.domain.front.access import Principal
from gristmill.domain.log import DeadLetter
from gristmill.intake.publish.native import tenant_of
from gristmill.ports.log import Log

__all__ = ["VALUE_CHARS_MAX", "find_letter", "is_visible", "read_page", "visible_letters"]

VALUE_CHARS_MAX = 64 * 1024
"""Of one payload in a list."""

PAGE_BYTES_MAX = 1024 * 1024
"""Of one page of a list; the last letter may go beyond."""

LETTERS_PER_READ = 10
"""With payloads of 8 MiB at most each."""


async def find_letter(log: Log, principal: Principal, number: int) -> DeadLetter:
    """Return an open letter.

    Raises:
        ProblemRaised: `not-found`: there is none, or it is another tenant's.
    """
    letters = await log.dead_letters(after=number - 1, limit=1)
    if not letters or letters[0].dead_letter_id != number or not is_visible(letters[0], principal):
        raise problem("not-found", f"dead letter {number}")
    return letters[0]


async def read_page(
    log: Log,
    principal: Principal,
    *,
    topic: str,
    group: str,
    after: int,
    limit: int,
    measure: Callable[[DeadLetter], int],
) -> tuple[list[DeadLetter], int | None]:
    """Return open letters with their payloads, and the number behind which to go on; None at the end.

    Fewer than `limit` where they are large: a page ends with the letter that fills PAGE_BYTES_MAX.

    Args:
        measure: returns how many bytes of the page a letter takes.
    """
    visible: list[DeadLetter] = []
    size = seen = 0
    while seen < limit:
        wanted = min(LETTERS_PER_READ, limit - seen)
        part = await log.dead_letters(topic=topic, group=group, after=after, limit=wanted)
        for letter in part:
            after, seen = letter.dead_letter_id, seen + 1
            if is_visible(letter, principal):
                visible.append(letter)
                size += measure(letter)
                if size >= PAGE_BYTES_MAX:
                    return visible, after
        if len(part) < wanted:
            return visible, None
    return visible, after


def visible_letters(letters: Iterable[DeadLetter], principal: Principal) -> list[DeadLetter]:
    """Return those that somebody may see."""
    return [letter for letter in letters if is_visible(letter, principal)]


def is_visible(letter: DeadLetter, principal: Principal) -> bool:
    """Whether a letter exists for somebody."""
    return principal.sees(tenant_of(letter.headers, letter.topic))
