"""The plan `prices` of `gristmill demo`: a task of one's own as one would write it first, and what it did not think of.

It reads amounts as they are written in English. A post that says `1.250.000 €` fails it, in every attempt alike, and
so becomes a dead letter: teach `read_amount` that way of writing, and requeue the letter.
"""

import re

from msgspec import Struct

from gristmill import Flow, Item, Plan, Skip, cell, task

__all__ = ["Prices", "flow", "prices", "read_amount"]

AMOUNT = re.compile(r"[$€£]\s?(\d[\d.,]*\d|\d)|(\d[\d.,]*\d|\d)\s?[€£]")


@cell("prices")
class Prices(Struct, frozen=True):
    """Amounts that a post names."""

    amounts: tuple[float, ...]


@task
def prices(item: Item) -> Prices | Skip:
    """Find every amount, as a plain number."""
    found = [before or after for before, after in AMOUNT.findall(item.text)]
    return Prices(tuple([read_amount(text) for text in found])) if found else Skip("no price")


def read_amount(text: str) -> float:
    """Return what a text such as `1,250.00` says."""
    return float(text.replace(",", ""))


flow = Flow("prices", plans=[Plan("prices", tasks=[prices])])
