"""What is asked of the writer of a store, and how it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import apsw

from gristmill.adapters.sqlite.file.names import Names

__all__ = ["Call", "Job", "Turn", "answer"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Turn:
    """What a job works with while the turn is held."""

    db: apsw.Connection
    names: Names


@dataclass(slots=True)
class Job(Generic[T]):
    """Work for one turn. It may run twice, when another job of its turn failed.

    Attributes:
        run: writes, with the turn held and a transaction open.
        work_us: estimate of its CPU time.
        idle: returns an answer instead when there is nothing to do, without any turn; None means there is.
        finish: completes the answer after the turn, on the same thread.
        is_awaited: somebody waits for it who should not notice how busy the others are.
        is_durable: False where a power failure that undoes it undoes whatever it was for.
    """

    run: Callable[[Turn], T]
    work_us: int = 50
    idle: Callable[[Turn], T | None] | None = None
    finish: Callable[[Turn, T], T] | None = None
    is_awaited: bool = False
    is_durable: bool = True


@dataclass(slots=True)
class Call:
    """A job under way.

    Attributes:
        commit: number of the commit that is to be durable before the answer, 0 when none is.
        doubts: syncs of this process that had failed when its turn began.
    """

    job: Job[Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    answer: Any = None
    error: BaseException | None = None
    commit: int = 0
    doubts: int = 0


def answer(calls: Sequence[Call]) -> None:
    """Hand answers over, one wake-up for each event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Call]] = {}
    for call in calls:
        by_loop.setdefault(call.loop, []).append(call)
    for loop, answered in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve, answered)
        except RuntimeError:
            continue  # The loop is closed; nobody waits any more.


def _resolve(calls: list[Call]) -> None:
    for call in calls:
        if call.future.done():
            continue
        if call.error is not None:
            call.future.set_exception(call.error)
        else:
            call.future.set_result(call.answer)
