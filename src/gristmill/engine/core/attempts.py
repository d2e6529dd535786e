"""Decides what the answer of one call means: an ending, or another attempt after a wait.

An exception is classified here, once. A value that the task's signature does not name is a failure that lists the
legal ones, since guessing what was meant would hide a bug until its data is read.
"""

from __future__ import annotations

from typing import Any

import msgspec

from gristmill.domain.outcome import OUTCOMES, Done, End, Fail, Park, Retry, Skip
from gristmill.plans.operator import Operator

__all__ = ["UNCOUNTED_REPEATS_MAX", "Again", "Attempts", "Ending", "Failed"]

UNCOUNTED_REPEATS_MAX = 100
"""Calls of one task in one Run that may be repeated without spending an attempt; above it the dependency is taken
for gone. At a delay of 1 s this is more than a minute and a half, well inside a Run's time limit."""


class Failed(msgspec.Struct, frozen=True):
    """No further attempt. `text` keeps the original error ("ValueError: x")."""

    text: str
    error_class: str


class Again(msgspec.Struct, frozen=True):
    """Call once more after `wait_ms`; `otherwise` is the ending if the Run is over by then."""

    wait_ms: int
    otherwise: Failed


Ending = Done | Skip | End | Failed


class Attempts:
    """Counts the calls of one Task in one Run against its options."""

    __slots__ = ("_operator", "_spent", "_uncounted", "calls")

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._spent = 0
        self._uncounted = 0
        self.calls = 0

    def on_error(self, error: BaseException) -> Again | Failed:
        """The call raised."""
        self.calls += 1
        text = _read(error)
        name = type(error).__name__
        failed = Failed(f"{name}: {text}" if text else name, name)
        if not isinstance(error, self._operator.options.retry_on):
            return failed
        return self._spend(failed, wait_ms=None)

    def on_value(self, value: Any) -> Again | Ending:
        """The call returned."""
        self.calls += 1
        operator = self._operator
        if isinstance(value, Done):
            value = value.result
        if operator.result is not None and isinstance(value, operator.result):
            return Done(value)
        if operator.result is None and value is None:
            return Done(None)
        if isinstance(value, Park):
            return Failed(f"Park: {value.reason} (only a durable plan can park its run)", "Park")
        if type(value) not in operator.outcomes:
            return self._refuse(value)
        if isinstance(value, Retry):
            return self._repeat(value)
        if isinstance(value, Fail):
            return Failed(value.reason, "Fail")
        ending: Skip | End = value
        return ending

    def _repeat(self, retry: Retry) -> Again | Failed:
        failed = Failed(f"Retry: {retry.reason}" if retry.reason else "Retry", "Retry")
        if retry.counted:
            return self._spend(failed, wait_ms=max(0, retry.delay_ms))
        self._uncounted += 1
        if self._uncounted > UNCOUNTED_REPEATS_MAX:
            return Failed(f"{failed.text} (given up after {UNCOUNTED_REPEATS_MAX} uncounted repeats)", "Retry")
        return Again(max(0, retry.delay_ms), failed)

    def _spend(self, failed: Failed, *, wait_ms: int | None) -> Again | Failed:
        self._spent += 1
        options = self._operator.options
        if self._spent >= options.attempts:
            return failed
        if wait_ms is None:
            waits = options.waits_ms or (0,)
            wait_ms = waits[min(self._spent, len(waits)) - 1]
        return Again(wait_ms, failed)

    def _refuse(self, value: Any) -> Failed:
        operator = self._operator
        result = "None" if operator.result is None else operator.result.__name__
        legal = [result, *(one.__name__ for one in OUTCOMES if one in operator.outcomes)]
        text = f"task {operator.name!r} returned {type(value).__name__}; legal: {', '.join(legal)}"
        return Failed(text, "IllegalReturn")


def _read(error: BaseException) -> str:
    """Return the text of an exception; one that cannot even tell it must not do more harm than the others."""
    try:
        return str(error)
    except Exception as broken:
        return f"its text cannot be read: {type(broken).__name__}"
