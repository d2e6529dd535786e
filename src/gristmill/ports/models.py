"""Models that operators may ask for by role."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    # A command that only prints help should not wait for it.
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LLM", "Completion", "Embedder"]


class Completion(msgspec.Struct, frozen=True):
    """An answer of a language model with what it cost in tokens."""

    text: str
    model: str
    input_tokens: int
    output_tokens: int
    finish_reason: str


class LLM(Protocol):
    """A chat model behind a role such as `safety`; which model that is, configuration decides."""

    async def complete(self, prompt: str, *, schema: dict[str, Any] | None = None, deadline_ms: int) -> Completion:
        """Return one answer, valid against `schema` if given, or raise `Unavailable` by `deadline_ms` from now."""
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors. `revision` changes whenever equal texts would get other vectors."""

    @property
    def dimension(self) -> int: ...

    @property
    def revision(self) -> str: ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return `float32[len(texts), dimension]`, each row L2-normalised (all zero for an empty text)."""
        ...
