"""Results and tasks that the tests of this folder place in plans."""

from __future__ import annotations

import msgspec

from gristmill import Item, Join, Label, cell, kept, task
from gristmill.plans.operator import Operator


@cell("words")
class Words(msgspec.Struct, frozen=True):
    count: int
    labels: tuple[Label, ...] = ()
    contributions: tuple[Join, ...] = ()


@kept
class Verdict(msgspec.Struct, frozen=True):
    allowed: bool


@task(revision="7")
def words(item: Item) -> Words:
    label = Label("short-text", 0.9, "two words", ("Hello",))
    return Words(2, (label,), (Join("exact", ("k",), "duplicate", "same as {leader}"),))


def flaky(log: list[str], *, failures: int = 1) -> Operator:
    left = [failures]

    @task(attempts=failures + 1)
    def flaky(item: Item, words: Words) -> Verdict:
        log.append("flaky")
        left[0] -= 1
        if left[0] >= 0:
            raise OSError("not yet")
        return Verdict(allowed=True)

    return flaky
