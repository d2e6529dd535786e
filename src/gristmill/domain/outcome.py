"""The closed set of Outcomes: what a Task returns decides its fate.

A task returns its result (the same as `Done(result)`), or one of the others. There is no further way out:
an exception is classified once, in the run guard, into `Retry` or `Fail`.
"""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["OUTCOMES", "Done", "End", "Fail", "Outcome", "Park", "Retry", "Skip"]


class Done(msgspec.Struct, frozen=True):
    """The task has its result (None for a task that only gates)."""

    result: Any = None


class Skip(msgspec.Struct, frozen=True):
    """The task does not apply; what is placed after it or needs its result is skipped too. Not an error."""

    reason: str


class End(msgspec.Struct, frozen=True):
    """The Run ends here as a success in `state` (for example `rejected`); only tasks marked `finally` still run."""

    state: str
    reason: str


class Retry(msgspec.Struct, frozen=True):
    """Call the task again after `delay_ms`. Waiting for a dependency is `counted=False` and spends no attempt."""

    delay_ms: int
    reason: str = ""
    counted: bool = True


class Park(msgspec.Struct, frozen=True):
    """Set the Run aside until `until_ms` (UTC epoch) or, when None, until a person or a Signal acts."""

    reason: str
    until_ms: int | None = None


class Fail(msgspec.Struct, frozen=True):
    """The task cannot succeed; no further attempt."""

    reason: str


Outcome = Done | Skip | End | Retry | Park | Fail
OUTCOMES: tuple[type, ...] = (Done, Skip, End, Retry, Park, Fail)
