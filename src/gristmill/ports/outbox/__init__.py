"""The way from the state to a log that is apart from it: rows are committed with the state and sent afterwards."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Protocol

from gristmill.domain.outbox import NewOutboxRow, OutboxRow, OutboxStanding, SendOutcome

__all__ = ["ROWS_PER_PASS_MAX", "UNSETTLED_PER_CALL_MAX", "Outbox", "Outlet", "Origins", "Send"]

ROWS_PER_PASS_MAX = 100
UNSETTLED_PER_CALL_MAX = 500

Send = Callable[[Sequence[OutboxRow]], Awaitable[Sequence[SendOutcome]]]
"""Sends rows and returns what became of each, in their order."""


class Outbox(Protocol):
    """Rows in the order of their commits. Methods raise `Unavailable` when nothing was done and a retry is safe.

    Of rows of one topic with one key, a later one is not sent before an earlier one, and waits while that is refused.
    Rows without a key do not wait for each other.
    """

    async def add(self, rows: Sequence[NewOutboxRow]) -> list[str]:
        """Add rows in a step of their own and return their ids; durable once returned. Rings the bell of `wait`."""
        ...

    async def dispatch(self, send: Send, *, limit: int = ROWS_PER_PASS_MAX) -> int:
        """Hand rows that are due and that nobody else is sending to `send`, and write down what became of them.

        Rows that somebody else is sending are passed over, never waited for. When `send` raises, or the process dies
        before its answer is written down, the rows stay as they were and are handed out again under the same ids.

        Returns:
            How many rows were sent or refused.
        """
        ...

    async def clean_up(self, forget: Callable[[Sequence[OutboxRow]], Awaitable[None]], *, limit: int) -> int:
        """Call `forget` with rows that are confirmed, then let go of them; return how many.

        `forget` gets the same rows again if the process dies in between. Rows that publish an item are kept for
        `unsettled`, without being handed to `forget` again.
        """
        ...

    async def unsettled(self, *, limit: int = UNSETTLED_PER_CALL_MAX) -> tuple[list[OutboxRow], int]:
        """Look at publications that were sent and are due to be looked at; let go of those that came to something.

        That is: a run of the item at that position or a later one is stored, or the record is in quarantine.

        Returns:
            Those that are left and older than LOST_AFTER_MS, and how many were looked at. Each is due again after a
            while, whatever becomes of it.
        """
        ...

    async def send_again(self, rows: Sequence[OutboxRow]) -> int:
        """Replace rows of `unsettled` by new ones of the next generation and return how many; the others are gone."""
        ...

    async def drop(self, rows: Sequence[OutboxRow]) -> None:
        """Let go of rows of `unsettled`: it is known elsewhere what became of them."""
        ...

    async def standing(self) -> OutboxStanding:
        """Return how much waits to be sent."""
        ...

    async def wait(self, *, timeout_ms: int) -> None:
        """Return when rows may have been added, or after `timeout_ms`. May return early."""
        ...


class Outlet(Protocol):
    """A log as whoever sends rows to it sees it."""

    async def append(self, topic: str, rows: Sequence[OutboxRow]) -> list[int]:
        """Append the records of rows of one topic and return their offsets.

        A row that was appended before and is not forgotten is no second time delivered to any group, whoever appended
        it and whether or not that got an answer.

        Raises:
            Unavailable, ConfigError: the log is away, or not fit; some may be appended.
            UsageError: it will not have one of them; some may be appended.
        """
        ...

    async def forget(self, rows: Sequence[OutboxRow]) -> None:
        """Let go of what is remembered of rows that are confirmed; they are never appended again."""
        ...

    async def present(self, topic: str, offsets: Collection[int]) -> set[int]:
        """Return those offsets whose records are still in the log."""
        ...


class Origins(Protocol):
    """Which record of a topic brought a row first to a group, for logs that may hold a row twice."""

    async def settle(self, topic: str, group: str, brought: Mapping[str, int]) -> dict[str, int]:
        """Return for each outbox id the offset that brought it first: an earlier call's, else the one given now."""
        ...
