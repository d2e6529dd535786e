"""The event loop of a process."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["run_async"]

T = TypeVar("T")


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a loop of this process and return what it returns."""
    import uvloop

    return uvloop.run(work)
