"""What every registry of definitions refuses before it does anything."""

from __future__ import annotations

from gristmill.domain.errors import StaleRead, UsageError
from gristmill.ports.definitions import DEFINITION_BYTES_MAX, Definition

__all__ = ["check_definition", "check_expected"]


def check_definition(new: Definition) -> None:
    """Refuse a definition that nobody can have written by hand."""
    if len(new.body.encode("utf-8", "surrogatepass")) > DEFINITION_BYTES_MAX:
        advice = f"keep it within {DEFINITION_BYTES_MAX} bytes"
        raise UsageError(f"definition {new.name!r} is too large", value=len(new.body), advice=advice)


def check_expected(new: Definition, latest: Definition | None, expected: int | None) -> None:
    """Refuse to publish over a revision that the publisher has not seen."""
    revision = latest.revision if latest is not None else 0
    if expected is not None and revision != expected:
        advice = f"expected revision {expected}: look at the latest one, then publish again"
        raise StaleRead(f"latest revision of {new.kind} {new.name!r}", value=revision, advice=advice)
