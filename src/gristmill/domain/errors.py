"""The error vocabulary, branched by what the caller can do.

    GristmillError
    ├── UsageError          fix the call; a retry cannot help
    ├── ConfigError         refuse to start; fix configuration or definitions
    ├── Unavailable         a dependency is down; nothing was done, retry later
    │   ├── IdUnavailable   no id could be issued in time; nothing may be acknowledged
    │   └── OutcomeUnknown  may or may not be done; a retry can double the work
    ├── StaleRead           somebody else went first; read again, then decide
    ├── DataError           the input is at fault; quarantine it with its reason
    └── InvariantBroken     a bug in Gristmill; stop and report it

Each error carries fields, not a formatted sentence: the thing, its value, and the next step.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = [
    "ConfigError",
    "DataError",
    "GristmillError",
    "IdUnavailable",
    "InvariantBroken",
    "OutcomeUnknown",
    "StaleRead",
    "Unavailable",
    "UsageError",
]


class GristmillError(Exception):
    """Root of all errors that Gristmill raises on purpose.

    Args:
        thing: what is wrong, in the words of the glossary ("plan 'news'").
        value: the offending value, shown with `repr` unless it is already text for a person.
        advice: the next step for the reader.
    """

    def __init__(self, thing: str, *, value: object = None, advice: str = "") -> None:
        super().__init__(thing, value, advice)
        self.thing = thing
        self.value = value
        self.advice = advice

    def __reduce__(self) -> tuple[Callable[..., GristmillError], tuple[type[GristmillError], str, object, str]]:
        # Errors travel back from worker processes; the default would call __init__ with three positions.
        return _rebuild, (type(self), self.thing, self.value, self.advice)

    def __str__(self) -> str:
        shown = "" if self.value is None else f": {self.value!r}"
        step = f" ({self.advice})" if self.advice else ""
        return f"{self.thing}{shown}{step}"


def _rebuild(kind: type[GristmillError], thing: str, value: object, advice: str) -> GristmillError:
    return kind(thing, value=value, advice=advice)


class UsageError(GristmillError):
    """The call is wrong: fix it, do not retry."""


class ConfigError(GristmillError):
    """Configuration or definitions are wrong: refuse to start."""


class Unavailable(GristmillError):
    """A dependency cannot be reached: nothing was done, retry later."""


class IdUnavailable(Unavailable):
    """No id could be issued in time: acknowledge nothing, retry later."""


class OutcomeUnknown(Unavailable):
    """The call may or may not have taken effect: a retry can double it."""


class StaleRead(GristmillError):
    """The state read is no longer current: read again, then decide."""


class DataError(GristmillError):
    """The input is at fault: quarantine it together with this reason."""


class InvariantBroken(GristmillError):
    """Something that can never happen has happened: a bug in Gristmill."""
