"""Who may write for a run: ownership that the store itself checks with every write, whatever the log thinks."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

__all__ = ["Ended", "Held", "RunEnding", "RunFences", "RunName", "StartAnswer", "Started"]

RunEnding = Literal["done", "failed", "rejected", "held"]
"""How a run ends; `held` waits for somebody, all others are for good."""


class RunName(msgspec.Struct, frozen=True, array_like=True):
    """One plan over one item: `key` is the item id as text."""

    plan: str
    key: str


class Started(msgspec.Struct, frozen=True):
    """The run is ours until its lease is over.

    Attributes:
        epoch: the fence; each write carries it.
        attempts: starts within this generation, this one included.
    """

    epoch: int
    attempts: int


class Held(msgspec.Struct, frozen=True):
    """Somebody else has it until this time (UTC epoch in ms, by the store's clock). Nothing was counted."""

    until_ms: int


class Ended(msgspec.Struct, frozen=True):
    """It has ended for good; there is nothing to do."""

    status: RunEnding


StartAnswer = Started | Held | Ended


class RunFences(Protocol):
    """Rows of runs. Methods raise `Unavailable` when nothing was done and a retry is safe."""

    async def start(
        self, run: RunName, *, owner: str, lease_ms: int, position: int = 0, generation: int = 0
    ) -> StartAnswer:
        """Take a run whose lease is over, or that is ours already, in one step; raise its fence and count the start.

        Args:
            position: offset of the record that it is about.
            generation: a higher one than before counts starts anew and takes up a run that has failed.
        """
        ...

    async def renew(self, run: RunName, *, epoch: int, lease_ms: int) -> bool:
        """Extend the lease to `lease_ms` from now; False where the run is not ours any more."""
        ...

    async def store(self, run: RunName, *, epoch: int, status: RunEnding, result: bytes) -> None:
        """End a run and write what it has found; durable once returned.

        Raises:
            StaleRead: the run is not ours any more, or has ended; nothing was written, and nothing may be accepted.
        """
        ...

    async def free(self, run: RunName, *, epoch: int, is_counted: bool = True) -> bool:
        """Give a run back before the end of its lease; `is_counted=False` takes the start back."""
        ...

    async def result(self, run: RunName) -> tuple[RunEnding, bytes] | None:
        """Return how a run ended and what it has found; None while it has not ended."""
        ...
