"""Keyed parts of state that items share, resolved in the store and never by a task.

A task cannot know which other items are being worked on beside it, so it only says what its item shares:

- `Join` puts the item into the group of every key given. Items that share a key, directly or over others, form
  one group: groups are the connected components, whatever the order of commits. The leader is the member with
  the lowest log position; every other member carries the label.
- `Count` counts items with the same key in a window of event time that ends at this item. Among items
  with equal keys only those of a lower log position count, so an item carries the label whatever was committed first.

Both are idempotent by item id: a repeated commit changes nothing. Labels that follow from them are resolved when they
are read, because an item that is committed later can still take a lower position.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gristmill.domain.errors import UsageError
from gristmill.domain.ids import ItemId
from gristmill.domain.item import AppliedLabel, check_label

__all__ = ["Contribution", "Count", "Join", "Resolved", "decide_labels"]

KEYS_PER_JOIN_MAX = 64
"""Bound of one `Join`; near-duplicate banding uses far fewer."""


class Join(msgspec.Struct, frozen=True, gc=False, tag="join"):
    """Membership in the group of each key.

    Attributes:
        space: name of the family of keys, for example `exact`.
        keys: 1..64 opaque keys; a shared key joins two items.
        label: given to every member but the leader.
        reason: may use `{leader}` (input id of the leader) and `{size}`.
        unless: a label that makes this one redundant (an exact duplicate is not also a near one).

    Raises:
        UsageError: no key, too many keys, an empty space, or not a label.
    """

    space: str
    keys: tuple[str, ...]
    label: str
    reason: str
    score: float = 1.0
    unless: str = ""

    def __post_init__(self) -> None:
        _check_space(self.space)
        check_label(self.label, self.score)
        _check_keys(self.space, self.keys)


class Count(msgspec.Struct, frozen=True, gc=False, tag="count"):
    """One more sighting of a key.

    Attributes:
        at_ms: event time of the item, UTC epoch.
        window_ms: the window `(at_ms - window_ms, at_ms]`.
        threshold: the label applies when the item is at least the `threshold`-th sighting in its window.
        reason: may use `{count}` and `{key}`.

    Raises:
        UsageError: an empty space or key, a window or threshold below 1, or not a label.
    """

    space: str
    key: str
    at_ms: int
    window_ms: int
    threshold: int
    label: str
    reason: str
    score: float = 0.9
    unless: str = ""

    def __post_init__(self) -> None:
        _check_space(self.space)
        check_label(self.label, self.score)
        if not self.key:
            raise UsageError(f"Count in space {self.space!r} has an empty key", advice="contribute nothing instead")
        if self.window_ms < 1 or self.threshold < 1:
            got = (self.window_ms, self.threshold)
            raise UsageError(f"window_ms, threshold of Count in space {self.space!r}", value=got, advice="at least 1")


Contribution = Join | Count


class Resolved(msgspec.Struct, frozen=True, gc=False):
    """A contribution of one item as it stands now.

    Attributes:
        leader: item id of the group's leader (Join) or None.
        leader_input_id: the leader's id at its Source.
        size: members of the group (Join), or sightings up to and including this item (Count, capped at its threshold).
        task, operator, revision: who contributed.
    """

    contribution: Contribution
    leader: ItemId | None
    leader_input_id: str
    size: int
    task: str
    operator: str
    revision: str


def decide_labels(
    item_id: ItemId, resolved: Sequence[Resolved], *, given: frozenset[str] = frozenset()
) -> list[AppliedLabel]:
    """Return the labels that follow from resolved contributions of one item, sorted; `given` are labels it already has.

    The order of `resolved` does not matter: a label is decided after every label that its `unless` may name.
    """
    waiting = sorted(
        {(_label_of(entry), entry.contribution.unless) for entry in resolved if _applies(item_id, entry)},
        key=lambda pair: (msgspec.structs.astuple(pair[0]), pair[1]),
    )
    held = set(given)
    labels: list[AppliedLabel] = []
    while waiting:
        undecided = {label.val for label, _ in waiting}
        # Labels that exclude each other in a circle: the first by name goes first.
        ready = [pair for pair in waiting if pair[1] not in undecided] or waiting[:1]
        waiting = [pair for pair in waiting if pair not in ready]
        labels += [label for label, unless in ready if unless not in held]
        held.update(label.val for label in labels)
    return sorted(labels, key=msgspec.structs.astuple)


def _check_space(space: str) -> None:
    if not space:
        raise UsageError("space of a contribution is empty", advice="name the family of keys, e.g. 'exact'")


def _check_keys(space: str, keys: object) -> None:
    # One string is a sequence too: its letters as keys would join everything with everything.
    if not isinstance(keys, (tuple, list)) or not 1 <= len(keys) <= KEYS_PER_JOIN_MAX or not all(keys):
        advice = f"give a tuple of 1 to {KEYS_PER_JOIN_MAX} keys; an item without one contributes nothing"
        raise UsageError(f"keys of Join in space {space!r}", value=keys, advice=advice)


def _applies(item_id: ItemId, entry: Resolved) -> bool:
    if isinstance(entry.contribution, Join):
        return entry.leader is not None and entry.leader != item_id
    return entry.size >= entry.contribution.threshold


def _label_of(entry: Resolved) -> AppliedLabel:
    contribution = entry.contribution
    if isinstance(contribution, Join):
        reason = contribution.reason.replace("{size}", str(entry.size)).replace("{leader}", entry.leader_input_id)
        evidence = (entry.leader_input_id,)
    else:
        reason = contribution.reason.replace("{count}", str(entry.size)).replace("{key}", contribution.key)
        evidence = (contribution.key,)
    return AppliedLabel(
        val=contribution.label,
        score=contribution.score,
        reason=reason,
        evidence=evidence,
        task=entry.task,
        operator=entry.operator,
        revision=entry.revision,
    )
