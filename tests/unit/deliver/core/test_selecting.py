"""What a subscription takes of an item."""

from __future__ import annotations

from typing import Any

import pytest

from gristmill.deliver.core import selecting
from gristmill.deliver.core.document import compute_columns
from gristmill.deliver.core.messages import compute_view, decide_messages
from gristmill.deliver.core.selecting import BadRows, compile_selector
from gristmill.domain.delivery import Subscription
from gristmill.domain.ids import ItemId, RunId
from gristmill.domain.item import Item
from gristmill.domain.run import Event
from gristmill.ports.delivery import Change, KnownItem

ITEM = {"tenant": "main", "text": "hello", "fields": {"language": "en"}, "ext": {"main": {"heat": 7}, "plain": 1}}


def test_fields_of_a_tenant_are_columns_under_its_name() -> None:
    columns = compute_columns(ITEM)
    assert columns == {"text": "hello", "fields.language": "en", "ext.main.heat": 7, "ext.plain": 1}


def test_a_condition_that_fails_is_not_fulfilled_and_counted() -> None:
    selector = compile_selector(Subscription(name="x", rows='item.fields.topic == "a"'))
    assert not selector.wants(ITEM)
    assert selector.error_count == 1
    guarded = compile_selector(Subscription(name="x", rows='has(item.fields.topic) && item.fields.topic == "a"'))
    assert (guarded.wants(ITEM), guarded.error_count) == (False, 0)
    assert not compile_selector(Subscription(name="x", tenant="acme")).wants(ITEM)


def test_names_are_matched_as_often_as_there_is_no_room_to_remember(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selecting, "REMEMBERED_MAX", 1)
    selector = compile_selector(Subscription(name="x", columns=("fields.*",)))
    for _ in range(2):
        assert selector.choose(compute_columns(ITEM)) == {"fields.language": "en"}


@pytest.mark.parametrize("rows", ["other.text == 'a'", "item.txt == 'a'", "1 == 1", "item.text =="])
def test_a_condition_that_can_never_hold_is_refused(rows: str) -> None:
    with pytest.raises(BadRows) as refused:
        compile_selector(Subscription(name="x", rows=rows))
    assert refused.value.advice


def test_only_the_points_that_were_asked_for_make_a_message() -> None:
    item_id = ItemId(1)
    views = {item_id: compute_view(KnownItem(1, Item(item_id, text="a"), [], [], []))}
    changes = [Change(1, item_id, (Event("label.negated", item_id, RunId("r"), 7),))]
    for points, count in ((("final",), 0), (("change",), 1)):
        subscription = Subscription(name="x", points=points)  # type: ignore[arg-type]
        messages: list[Any] = decide_messages(
            subscription,
            compile_selector(subscription),
            changes,
            views,
            {},
            is_again=lambda change: False,
            is_unsure=lambda change: False,
        )
        assert len(messages) == count
