"""Decides what becomes of a record by what its handler returned or raised, and by how often it was delivered."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from gristmill.domain.errors import DataError, Unavailable
from gristmill.domain.log import Delivery
from gristmill.domain.outcome import OUTCOMES, Done, End, Fail, Outcome, Park, Retry, Skip

__all__ = ["Accept", "Budget", "Bury", "GiveBack", "Verdict", "compute_draw", "decide_end", "decide_start", "judge"]

Ending = Literal["done", "poison", "retry", "dead", "dependency", "parked", "stopped"]

DEPENDENCY_ERRORS = (Unavailable, ConnectionError)
DATA_ERRORS = (DataError, msgspec.DecodeError, UnicodeDecodeError)
"""The record itself cannot be read: another run reads the same."""

LEGAL = ", ".join(["None", *(one.__name__ for one in OUTCOMES)])


class Accept(msgspec.Struct, frozen=True):
    """The record has ended."""

    ending: Ending = "done"


class GiveBack(msgspec.Struct, frozen=True):
    """The record comes again after `delay_ms`."""

    delay_ms: int
    counted: bool
    ending: Ending
    text: str


class Bury(msgspec.Struct, frozen=True):
    """The record becomes a dead letter."""

    error_class: str
    text: str
    ending: Ending


Verdict = Accept | GiveBack | Bury


class Budget(msgspec.Struct, frozen=True):
    """How often and when a record comes again.

    Attributes:
        attempts: runs in all, process deaths included; 0 for no bound.
        delays_ms: before the second run, the third and so on; the last one stays.
        swing: share by which a delay is stretched or cut, 0..1.
        dependency_delay_ms: before a record comes again that failed for a dependency.
        may_retry: whether a failure is followed by another run at all.
    """

    attempts: int
    delays_ms: tuple[int, ...]
    swing: float
    dependency_delay_ms: int
    may_retry: bool = True

    def compute_delay_ms(self, attempt: int, *, draw: float) -> int:
        """Return the wait after the n-th run, n >= 1; `draw` in [0, 1) places it within the swing."""
        delay_ms = self.delays_ms[min(attempt, len(self.delays_ms)) - 1] if self.delays_ms else 0
        return round(delay_ms * (1 + self.swing * (2 * draw - 1)))


def compute_draw(parts: Sequence[object]) -> float:
    """Return a number in [0, 1) that follows from its parts, so that a story told again goes the same way."""
    return zlib.crc32("\n".join(map(str, parts)).encode()) / (1 << 32)


def judge(raised: BaseException) -> tuple[Outcome, str]:
    """Return what an exception means, and the name of its class."""
    name = type(raised).__name__
    text = f"{name}: {_read(raised)}"
    if isinstance(raised, DEPENDENCY_ERRORS):
        return Retry(0, text, counted=False), name
    return (Fail(text), name) if isinstance(raised, DATA_ERRORS) else (Retry(0, text), name)


def decide_start(delivery: Delivery, budget: Budget) -> Bury | None:
    """Decide before the handler runs: a record whose runs are spent did not end the last of them itself."""
    if not 0 < budget.attempts < delivery.attempt:
        return None
    text = f"delivered {delivery.attempt} times, and {budget.attempts} runs are allowed: whoever ran it last has died"
    return Bury("crashed", text, "dead")


def decide_end(value: Any, attempt: int, budget: Budget, *, error_class: str, draw: float, now_ms: int) -> Verdict:
    """Decide after the run.

    Args:
        value: what the handler returned, or `judge` made of what it raised.
        error_class: name of the exception, empty where it returned.
    """
    match value:
        case None | Done() | Skip() | End():
            return Accept()
        case Fail(reason=reason):
            return Bury(error_class or "Fail", reason, "poison")
        case Park(reason=reason, until_ms=None):
            return Bury("Park", reason, "parked")
        case Park(reason=reason, until_ms=int() as until_ms):
            return GiveBack(max(0, until_ms - now_ms), False, "parked", reason)
        case Retry(counted=False):
            delay_ms = value.delay_ms if value.delay_ms > 0 else budget.dependency_delay_ms
            return GiveBack(delay_ms, False, "dependency", value.reason)
        case Retry():
            return _decide_retry(value, attempt, budget, error_class=error_class or "Retry", draw=draw)
        case _:
            text = f"the handler returned {type(value).__name__}; legal: {LEGAL}"
            return Bury("IllegalReturn", text, "poison")


def _decide_retry(retry: Retry, attempt: int, budget: Budget, *, error_class: str, draw: float) -> Verdict:
    if not budget.may_retry:
        return Bury(error_class, retry.reason or "failed, and the group does not retry", "dead")
    if 0 < budget.attempts <= attempt:
        return Bury(error_class, retry.reason or f"failed {attempt} times", "dead")
    delay_ms = retry.delay_ms if retry.delay_ms > 0 else budget.compute_delay_ms(attempt, draw=draw)
    return GiveBack(delay_ms, True, "retry", retry.reason)


def _read(error: BaseException) -> str:
    """Return the text of an exception; one that cannot even tell it must not do more harm than the others."""
    try:
        return str(error)
    except Exception as broken:
        return f"its text cannot be read: {type(broken).__name__}"
