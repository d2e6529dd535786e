"""Turns are drawn by weight among those that still have something to give."""

from collections import Counter

import pytest

from gristmill.adapters.clock import SeededRandom
from gristmill.engine.core.draw import Candidate, DrawRound

MANY = 10**9


class FixedDraw:
    """Draws the same value every time."""

    def __init__(self, value: float) -> None:
        self.value = value

    def uniform(self) -> float:
        return self.value


def test_turns_follow_the_weights() -> None:
    turns = DrawRound([Candidate("a", 3, MANY), Candidate("b", 1, MANY)]).share(10_000, SeededRandom(1))
    assert turns["a"] / 10_000 == pytest.approx(0.75, abs=0.02)
    assert sum(turns.values()) == 10_000


def test_who_leaves_gives_its_turns_to_the_others_in_their_proportions() -> None:
    round_ = DrawRound([Candidate("a", 8, MANY), Candidate("b", 3, MANY), Candidate("c", 1, MANY)])
    round_.leave("a")
    turns = round_.share(10_000, SeededRandom(1))
    assert "a" not in turns
    assert turns["b"] / 10_000 == pytest.approx(0.75, abs=0.02)


def test_nobody_gives_more_than_it_has_room_for() -> None:
    round_ = DrawRound([Candidate("a", 100, 2), Candidate("b", 1, 3), Candidate("none", 1, 0)])
    assert round_.share(50, SeededRandom(1)) == {"a": 2, "b": 3}
    assert round_.is_over
    assert round_.share(50, SeededRandom(1)) == {}


def test_room_is_used_up_over_several_shares_of_one_round() -> None:
    round_ = DrawRound([Candidate("a", 1, 5)])
    assert round_.share(3, FixedDraw(0.5)) == {"a": 3}
    assert round_.share(3, FixedDraw(0.5)) == {"a": 2}


@pytest.mark.parametrize(("drawn", "chosen"), [(0.0, "a"), (0.2499, "a"), (0.25, "b"), (0.75, "c"), (0.9999, "c")])
def test_a_draw_falls_on_the_stretch_of_its_candidate(drawn: float, chosen: str) -> None:
    candidates = [Candidate("a", 1, 1), Candidate("b", 2, 1), Candidate("c", 1, 1)]
    assert DrawRound(candidates).share(1, FixedDraw(drawn)) == {chosen: 1}


def test_leaving_twice_is_harmless() -> None:
    round_ = DrawRound([Candidate("a", 1, 1)])
    round_.leave("a")
    round_.leave("a")
    assert round_.share(1, SeededRandom(1)) == {}


def test_a_long_run_of_rounds_counts_each_turn_once() -> None:
    random, given = SeededRandom(3), Counter[str]()
    for _ in range(1_000):
        given.update(DrawRound([Candidate("a", 1, 3), Candidate("b", 1, 3)]).share(4, random))
    assert sum(given.values()) == 4_000
