"""Ids of outbox rows, and when a sent publication is looked at."""

import uuid

import pytest

from gristmill.domain.outbox import LOST_AFTER_MS, compute_outbox_id, decide_look_ms


def test_an_id_is_a_uuid_of_version_7_that_begins_with_its_time() -> None:
    now_ms = 1_764_525_600_123
    low, high = (uuid.UUID(compute_outbox_id(now_ms, bytes([byte]) * 10)) for byte in (0, 255))
    for one in (low, high):
        assert (one.version, one.variant) == (7, uuid.RFC_4122)
        assert one.int >> 80 == now_ms
    assert low < high
    assert low.int & (1 << 62) - 1 == 0
    assert high.int & (1 << 62) - 1 == (1 << 62) - 1
    assert str(low) == compute_outbox_id(now_ms, bytes(10))
    assert uuid.UUID(compute_outbox_id(now_ms + 1, bytes(10))) > high


@pytest.mark.parametrize(
    ("age_ms", "pause_ms"),
    [(0, 10_000), (10_000, 10_000), (40_000, 40_000), (300_000, 300_000), (400_000, 200_001), (599_999, 2)],
)
def test_looks_double_their_pause_until_a_publication_may_be_lost(age_ms: int, pause_ms: int) -> None:
    assert decide_look_ms(age_ms) == pause_ms


def test_a_publication_that_may_be_lost_is_looked_at_within_a_minute_and_an_old_one_less_often() -> None:
    age_ms = looks = 0
    while age_ms <= LOST_AFTER_MS:
        age_ms += decide_look_ms(age_ms)
        looks += 1
    assert age_ms <= LOST_AFTER_MS + 60_000
    assert looks <= 10
    assert decide_look_ms(LOST_AFTER_MS) == LOST_AFTER_MS // 8
    assert decide_look_ms(80 * LOST_AFTER_MS) == 10 * LOST_AFTER_MS
