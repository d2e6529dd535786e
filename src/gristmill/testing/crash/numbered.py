"""A flow that does next to nothing, slowly enough to be killed at it: what a loop of faults gives numbered records."""

from __future__ import annotations

import asyncio

import msgspec

from gristmill import Flow, Item, Plan, cell, task

__all__ = ["SLOW", "Number", "count", "flow"]

TASK_S = 0.005
SLOW = "slow"
"""What a text ends with that takes longer: long enough to be under way whenever something is killed."""

SLOW_S = 0.3


@cell("number")
class Number(msgspec.Struct, frozen=True):
    """What the record said."""

    text: str


@task
async def count(item: Item) -> Number:
    await asyncio.sleep(SLOW_S if item.text.endswith(SLOW) else TASK_S)
    return Number(item.text)


flow = Flow("numbered", plans=[Plan("numbered", tasks=[count])])
