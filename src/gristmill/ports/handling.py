"""What a Runner hands to the function that works on its records, and what it wants back."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable

import msgspec

from gristmill.domain.errors import StaleRead
from gristmill.domain.log import Delivery
from gristmill.domain.outcome import Outcome

__all__ = ["CancelToken", "Handler", "Handling"]


class CancelToken:
    """Says that work is to end now: its lease is lost, or the process stops. May be asked from any thread.

    Coroutines need not ask, they are cancelled; threads and calls into other libraries do.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._reason = ""

    @property
    def is_cancelled(self) -> bool:
        """Whether the work is to end."""
        return self._event.is_set()

    @property
    def reason(self) -> str:
        """Why, empty while it may go on."""
        return self._reason

    def check(self) -> None:
        """Return while the work may go on.

        Raises:
            StaleRead: it may not; write nothing more.
        """
        if self._event.is_set():
            raise StaleRead("work on a record was cancelled", value=self._reason, advice="write nothing and return")

    def wait(self, timeout_s: float) -> bool:
        """Block the calling thread for a time, less if the work is to end; return whether it is. Not for coroutines."""
        return self._event.wait(timeout_s)

    def cancel(self, reason: str) -> None:
        """End the work; the first reason stays."""
        if not self._event.is_set():
            self._reason = reason
            self._event.set()


class Handling(msgspec.Struct, frozen=True, eq=False):
    """One run of a handler.

    Attributes:
        delivery: the record with its lease; `delivery.lease.epoch` is the fence for what is written.
        cancel: says when to stop.
        attempts_max: runs that the record has in all, 0 for no bound.
        trace_id: 32 hexadecimal digits of the trace that the record belongs to, empty where it carries none.
    """

    delivery: Delivery
    cancel: CancelToken
    attempts_max: int
    trace_id: str = ""

    @property
    def attempt(self) -> int:
        """Which run this is, 1 for the first."""
        return self.delivery.attempt

    @property
    def is_last(self) -> bool:
        """Whether a failure of this run makes the record a dead letter."""
        return 0 < self.attempts_max <= self.attempt


Handler = Callable[[Handling], Awaitable[Outcome | None]]
"""Works on one record. What it returns decides the record's fate:

- None, `Done`, `Skip`, `End`: accepted.
- `Retry(delay_ms)`: comes again, the run counts; 0 takes the delay of the group. `counted=False` says that a dependency
  is down: no run is spent, and several in a row stop the claiming.
- `Fail`: a dead letter at once.
- `Park(until_ms)`: comes again then, uncounted; without a time it waits as a dead letter for a person.

A raised `Unavailable` or `ConnectionError` is a dependency, a `DataError` or a value that does not decode is `Fail`,
anything else `Retry`. Everything that it logs carries topic, group, offset, attempt, item and trace.
"""
