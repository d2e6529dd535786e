"""What a Runner hands to the function that works on its records, and what it wants back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from gristmill.domain.log import Delivery
from gristmill.domain.outcome import Outcome
from gristmill.ports.handling.token import CancelToken

__all__ = ["Handler", "Handling"]


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
