"""A plan as text."""

import msgspec

from gristmill import Flow, Item, Plan, Skip, task, transient
from gristmill.cli.drawing import draw_graph
from gristmill.plans.registry import build_registry


@transient
class Found(msgspec.Struct, frozen=True):
    count: int


@task
def gate(item: Item) -> Skip | None: ...


@task(revision="7", on_error="fail_open")
async def count(item: Item) -> Found:
    return Found(1)


@task
def judge(item: Item, found: Found | None) -> None: ...


@task
def tell(item: Item) -> None: ...


def test_tasks_stand_in_layers_with_what_they_wait_for() -> None:
    later = [count.use(after=[gate]), judge.use(name="verdict"), tell.use(after_any=[count], finally_=True)]
    registry = build_registry([Flow("news", plans=[Plan("news", version=3, tasks=[gate, *later])])])
    assert draw_graph(registry.plans["news"]).splitlines() == [
        "plan news, version 3, flow news, writes shadow",
        "  ─ gate",
        "  ▼",
        "  ─ count    ◀ after gate  [revision 7, async, fail_open]",
        "  ▼",
        "  ┌ verdict  ◀ count?  [judge]",
        "  └ tell     ◀ after-any count  [finally]",
    ]
