"""Which generator gives the next record: one draw a turn, proportional to weight.

A generator with nothing to give leaves the round, so its turns go to the others in their proportions and no turn is
lost; in the next round it is a candidate again.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gristmill.ports.clock import Random

__all__ = ["Candidate", "DrawRound"]


class Candidate(msgspec.Struct):
    """A generator in one round.

    Attributes:
        weight: above 0.
        room: records that it may still give in this round (tokens and slots of its own).
    """

    name: str
    weight: float
    room: int


class DrawRound:
    """The candidates of one round and the turns drawn among them."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._candidates = {candidate.name: candidate for candidate in candidates if candidate.room > 0}

    @property
    def is_over(self) -> bool:
        """Whether every candidate has left."""
        return not self._candidates

    def leave(self, name: str) -> None:
        """Take a generator out of this round; harmless if it is not in it."""
        self._candidates.pop(name, None)

    def share(self, turns: int, random: Random) -> dict[str, int]:
        """Draw up to `turns` turns and return how many each generator got; none got 0. Empty when all have left."""
        shares: dict[str, int] = {}
        while turns > 0 and self._candidates:
            if len(self._candidates) == 1:
                (chosen,) = self._candidates.values()
                count = min(turns, chosen.room)
            else:
                chosen, count = self._draw(random.uniform()), 1
            shares[chosen.name] = shares.get(chosen.name, 0) + count
            turns -= count
            chosen.room -= count
            if chosen.room == 0:
                self.leave(chosen.name)
        return shares

    def _draw(self, drawn: float) -> Candidate:
        candidates = list(self._candidates.values())
        mark = drawn * sum(candidate.weight for candidate in candidates)
        for candidate in candidates[:-1]:
            mark -= candidate.weight
            if mark < 0:
                return candidate
        return candidates[-1]
