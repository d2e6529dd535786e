"""How people write the place that a group is to go to."""

import pytest

from gristmill.domain.log import NEVER_MS
from gristmill.domain.steering import SeekTo, read_place


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("earliest", SeekTo(offset=0)),
        ("now", SeekTo(at_ms=NEVER_MS)),
        ("42", SeekTo(offset=42)),
        (str((1 << 63) - 1), SeekTo(offset=(1 << 63) - 1)),
        ("1970-01-01T00:00:01Z", SeekTo(at_ms=1_000)),
        ("1970-01-01T01:00:01+01:00", SeekTo(at_ms=1_000)),
        ("1960-01-01T00:00:00Z", SeekTo(at_ms=0)),
        (str(1 << 63), None),
        ("1" * 5_000, None),
        ("1970-01-01T00:00:01", None),
        ("0001-01-01T00:00:00+23:59", SeekTo(at_ms=0)),
        ("soon", None),
        ("", None),
    ],
)
def test_a_text_means_a_place_or_none(text: str, place: SeekTo | None) -> None:
    assert read_place(text) == place
