"""Who may look through a stretch of items now; see `api.services.Services.scans`."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

__all__ = ["FREELY", "Turns"]

Turns = AbstractAsyncContextManager[Any, Any]
"""Entered for each stretch."""

FREELY: Turns = nullcontext()
"""Everybody, at any time."""
