"""Why records wait, decided from what is known of a generator."""

import pytest

from gristmill.domain.front.traffic import decide_count
from gristmill.domain.front.waiting import WAIT_REASONS, WAIT_TEXTS, WaitReason, decide_waits
from gristmill.domain.log import Lag


@pytest.mark.parametrize(
    ("undelivered", "in_flight", "waiting", "is_full", "is_serving", "max_qps", "reasons"),
    [
        (0, 0, 0, True, False, 5.0, ()),
        (0, 9, 0, False, True, None, ()),
        (1, 0, 0, False, True, None, ("not-claimed",)),
        (1, 9, 0, False, True, None, ("engines-busy",)),
        (1, 0, 0, False, True, 5.0, ("rate-limited",)),
        (1, 0, 0, False, False, None, ("not-serving",)),
        (1, 9, 2, True, False, 5.0, ("not-serving", "backlog-full", "engines-busy", "rate-limited", "set-aside")),
        (0, 0, 2, False, True, None, ("set-aside",)),
    ],
)
def test_the_most_telling_reason_comes_first(
    *,
    undelivered: int,
    in_flight: int,
    waiting: int,
    is_full: bool,
    is_serving: bool,
    max_qps: float | None,
    reasons: tuple[WaitReason, ...],
) -> None:
    lag = Lag(undelivered, in_flight, waiting, 0, 0)
    assert decide_waits(lag, is_full=is_full, is_serving=is_serving, max_qps=max_qps) == reasons


def test_a_paused_generator_says_so_first() -> None:
    held = Lag(1, 0, 2, 0, 0)
    told = decide_waits(held, is_full=False, is_serving=True, max_qps=None, is_paused=True)
    assert told == ("paused", "set-aside")
    nothing = Lag(0, 3, 0, 0, 0)
    assert decide_waits(nothing, is_full=False, is_serving=True, max_qps=None, is_paused=True) == ()


def test_every_reason_is_explained() -> None:
    assert set(WAIT_TEXTS) == set(WAIT_REASONS)


def test_a_leap_of_the_counter_is_no_traffic() -> None:
    assert decide_count(60_000, step_ms=300_000) == 60_000
    assert decide_count(10**12, step_ms=300_000) is None
