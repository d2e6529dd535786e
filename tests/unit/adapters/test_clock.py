"""The system's clock never goes back, and a seed decides its draws."""

import time

import pytest

from gristmill.adapters.clock import SeededRandom, SystemClock, SystemRandom


def test_a_wall_clock_that_is_set_back_goes_on_from_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    wall_ms, steady_ms = 1_000_000, 500
    monkeypatch.setattr(time, "time_ns", lambda: wall_ms * 1_000_000)
    monkeypatch.setattr(time, "monotonic_ns", lambda: steady_ms * 1_000_000)
    clock = SystemClock()
    wall_ms, steady_ms = 1_000_050, 550
    assert clock.now_ms() == 1_000_050
    wall_ms, steady_ms = 400_000, 570
    assert clock.now_ms() == 1_000_070
    wall_ms, steady_ms = 2_000_000, 600
    assert clock.now_ms() == 2_000_000
    assert clock.monotonic_us() == 600_000


async def test_a_sleep_of_nothing_returns() -> None:
    await SystemClock().sleep_ms(0)


def test_equal_seeds_give_equal_draws() -> None:
    one, two = SeededRandom(7), SeededRandom(7)
    draws = [one.uniform() for _ in range(5)]
    assert draws == [two.uniform() for _ in range(5)]
    assert all(0 <= draw < 1 for draw in [*draws, SystemRandom().uniform()])
