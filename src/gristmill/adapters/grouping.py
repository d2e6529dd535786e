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
        if commit.lease is None:
            groups.append([index])
        elif (group := of_lease.get(commit.lease)) is not None:
            group.append(index)
        else:
            group = of_lease[commit.lease] = [index]
            groups.append(group)
    return groups
