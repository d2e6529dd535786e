"""What a seed means: the shape of a group, its records, and what happens to it and when. Pure: all is drawn at once."""

from __future__ import annotations

import random
from typing import Literal, get_args

import msgspec

__all__ = ["CALM_US", "Act", "Deed", "Posting", "Scenario", "draw_scenario"]

CALM_US = 9_000_000
"""From then on nothing goes wrong any more, and everything must come to its end."""

PUBLISH_US = 5_000_000
RECORDS_MAX = 24
INPUTS = 12
"""Records share so many input ids, so that items come twice and at once."""

FREEZE_US_MAX = 70_000_000
"""Longer than a dispatcher waits for the result of an engine that is connected."""

Act = Literal["kill", "vanish", "freeze", "slow", "cut", "stop", "wall", "outage", "blackout"]
"""What may be done to a group. `vanish` is a death that nobody tells of: no connection ends, no lock is let go.
`blackout` is the death of all."""

Behaviour = Literal["good", "slow", "flaky", "bad", "poison", "hang", "broken"]
MILD: tuple[Behaviour, ...] = ("good", "good", "good", "slow", "slow", "flaky")
HARSH: tuple[Behaviour, ...] = ("bad", "poison", "hang", "broken")

TARGETS = 8
"""Whom a deed hits is counted among those that live then."""


class Deed(msgspec.Struct, frozen=True):
    """One thing that happens to one process, or to all.

    Attributes:
        amount_us: how long it lasts, or how far the wall is set.
    """

    at_us: int
    act: Act
    target: int
    amount_us: int


class Posting(msgspec.Struct, frozen=True):
    """A record to publish; the text says how the tasks behave on it."""

    at_us: int
    topic: str
    text: str


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a seed draws before the first step.

    Attributes:
        is_log_apart: log and state are two stores, so a commit cannot accept its record.
        is_probed: the log is told of deaths; else only the end of the leases frees what the dead held.
        groups: engines of each dispatcher.
        refuse, lose, delay, die: how many of a thousand calls of log and state are refused, have their answer lost
            after the effect, take long, or are the last of their process.
    """

    seed: int
    is_log_apart: bool
    is_probed: bool
    groups: tuple[int, ...]
    max_in_flight: int
    refuse: int
    lose: int
    delay: int
    die: int
    deeds: tuple[Deed, ...]
    postings: tuple[Posting, ...]


def draw_scenario(seed: int) -> Scenario:
    """Return what a seed means."""
    chance = random.Random(f"{seed}/scenario")
    return Scenario(
        seed=seed,
        is_log_apart=chance.random() < 0.4,
        is_probed=chance.random() < 0.7,
        groups=tuple(chance.choice((1, 1, 2)) for _ in range(chance.choice((1, 1, 2)))),
        max_in_flight=chance.choice((2, 4, 16, 64)),
        refuse=chance.choice((0, 0, 10, 60)),
        lose=chance.choice((0, 0, 10, 40)),
        delay=chance.choice((0, 10, 60)),
        die=chance.choice((0, 0, 0, 5)),
        deeds=tuple(sorted((_draw_deed(chance) for _ in range(chance.choice((0, 1, 2, 4)))), key=lambda d: d.at_us)),
        postings=tuple(_draw_postings(chance)),
    )


def _draw_deed(chance: random.Random) -> Deed:
    act: Act = chance.choice(get_args(Act))
    amount_us = chance.choice((200_000, 1_500_000, 5_000_000))
    if act == "freeze" and chance.random() < 0.3:
        amount_us = FREEZE_US_MAX
    if act == "wall":
        amount_us = chance.choice((-5_000_000, 1_000_000, 10_000_000, 3_600_000_000))
    return Deed(chance.randrange(100_000, CALM_US), act, chance.randrange(TARGETS), amount_us)


def _draw_postings(chance: random.Random) -> list[Posting]:
    has_harsh = chance.random() < 0.5
    postings: list[Posting] = []
    at_us = 0
    count = chance.randrange(1, RECORDS_MAX)
    for number in range(count):
        kinds = HARSH if has_harsh and chance.random() < 0.2 else MILD
        at_us += chance.randrange(1, 2 * PUBLISH_US // count)
        text = f"{number}:{chance.randrange(INPUTS)}:{chance.choice(kinds)}"
        postings.append(Posting(at_us, chance.choice(("one", "two")), text))
    return postings
