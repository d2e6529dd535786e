"""Which entries of a commit stand or fall together."""

from __future__ import annotations

from collections.abc import Sequence

from gristmill.domain.commit import Commit
from gristmill.domain.log import Lease

__all__ = ["indexes_by_lease"]


def indexes_by_lease(commits: Sequence[Commit]) -> list[list[int]]:
    """Return groups of indexes: entries that share a lease are one group, an entry without lease is its own."""
    groups: list[list[int]] = []
    of_lease: dict[Lease, list[int]] = {}
    for index, commit in enumerate(commits):
        mine = [index]
        # One look at the table: a lease has five parts to hash.
        group = mine if commit.lease is None else of_lease.setdefault(commit.lease, mine)
        if group is mine:
            groups.append(group)
        else:
            group.append(index)
    return groups
