"""Tone of a text by VADER, a lexicon of rated words with rules for negation, emphasis and capitals. English."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from gristmill.domain.errors import ConfigError

__all__ = ["VaderTone"]

TONE_CHARS_MAX = 600
"""VADER searches its word list once per word: the cost grows with the square of the length."""


class VaderTone:
    """Rates a text from -1.0 (hostile or sad) to 1.0 (friendly or glad).

    Source: Hutto and Gilbert 2014, "VADER: A Parsimonious Rule-based Model for Sentiment Analysis".
    """

    revision = "vader-1"

    def __call__(self, text: str) -> float:
        """Return the compound score; 0.0 for a text without rated words."""
        return float(self._analyser.polarity_scores(text[:TONE_CHARS_MAX])["compound"])

    @cached_property
    def _analyser(self) -> Any:
        try:
            import vader
        except ImportError as missing:
            raise ConfigError(
                "rating the tone needs the extra 'text'", advice="pip install 'gristmill[text]'"
            ) from missing
        return vader.SentimentIntensityAnalyzer()
