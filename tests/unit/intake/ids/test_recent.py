"""Answers that were given lately."""

from gristmill.domain.ids import ItemId
from gristmill.intake.ids.recent import RecentIds


def test_the_longest_unused_key_is_forgotten() -> None:
    recent = RecentIds(keys_max=2)
    assert recent.find("main", "s", ["a"]) == {}
    recent.add("main", "s", {"a": ItemId(1), "b": ItemId(2)})
    assert recent.find("main", "s", ["a"]) == {"a": ItemId(1)}
    recent.add("main", "s", {"c": ItemId(3)})
    assert recent.find("main", "s", ["a", "b", "c"]) == {"a": ItemId(1), "c": ItemId(3)}


def test_tenants_and_sources_are_kept_apart() -> None:
    recent = RecentIds()
    recent.add("main", "s", {"a": ItemId(1)})
    assert recent.find("other", "s", ["a"]) == {}
    assert recent.find("main", "t", ["a"]) == {}
