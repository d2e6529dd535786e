"""What somebody did with a dead letter, kept after the letter is gone."""

from __future__ import annotations

from typing import Literal

import msgspec

from gristmill.domain.input_key import TENANT_DEFAULT
from gristmill.domain.log import Diagnosis

__all__ = ["Closing", "ClosingKind"]

ClosingKind = Literal["requeued", "edited", "dropped"]
"""`edited`: it went back with another payload."""


class Closing(msgspec.Struct, frozen=True, kw_only=True):
    """One dead letter that was closed, by whom and why.

    Attributes:
        closing_id: given by the store.
        tenant: whose record it was.
        diagnosis: why it had been given up, without its history.
        original: the payload that failed, where another one went back and the closing is looked up alone.
        edited: the payload that went back instead, alike.
    """

    closing_id: int = 0
    kind: ClosingKind
    at_ms: int
    actor: str
    reason: str = ""
    dead_letter_id: int
    topic: str
    group: str
    offset: int
    tenant: str = TENANT_DEFAULT
    diagnosis: Diagnosis
    original: bytes = b""
    edited: bytes = b""
