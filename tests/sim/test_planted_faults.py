"""Faults that were put in on purpose are found by some of the first thousand seeds: the simulation can see them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest

from gristmill.adapters.kafka.core.tracker import OffsetTracker
from gristmill.adapters.memory import MemoryLog, MemoryState
from gristmill.domain.commit import Commit, CommitOutcome, Committed, Quarantine
from gristmill.domain.log import Delivery, Lease, NewRecord
from gristmill.testing.simulate import Parts, Report, explain, quiet_logs, run_seed

SEEDS_MAX = 1_000

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with quiet_logs():
        yield


def find(parts: Parts, told: str) -> Report:
    """Return the first seed with a fault that is told so, which without what was planted has none; fail if none has."""
    for seed in range(1, SEEDS_MAX + 1):
        report = run_seed(seed, parts)
        if any(re.match(told, fault) for fault in report.faults):
            assert not run_seed(seed).faults
            return report
    pytest.fail(f"none of {SEEDS_MAX} seeds shows {told!r}")


class Passing:
    """Passes everything on but what a planted fault does differently."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class TrustingLog(Passing):
    """Accepts whatever is held by anybody."""

    inner: MemoryLog

    async def accept(self, leases: Sequence[Lease], *, then: Sequence[tuple[str, NewRecord]] = ()) -> list[bool]:
        ledger = self.inner.ledger
        accepted = [ledger.topics[one.topic].groups[one.group].held.pop(one.offset, None) is not None for one in leases]
        for topic, record in then if all(accepted) else ():
            await self.inner.append(topic, [record])
        return accepted


class OpenState(Passing):
    """Writes for whoever comes, and never looks at the lease."""

    inner: MemoryState

    async def commit(self, commits: Sequence[Commit]) -> list[CommitOutcome]:
        outcomes = await self.inner.commit([msgspec.structs.replace(commit, lease=None) for commit in commits])
        for commit in commits:
            if commit.lease is not None and (isinstance(commit, Quarantine) or commit.accept):
                self.inner._ledger.accept(commit.lease)
        return outcomes


class HastyState(Passing):
    """Says that it has written, and does so a moment later."""

    async def commit(self, commits: Sequence[Commit]) -> list[CommitOutcome]:
        self.later = asyncio.create_task(self._write(commits))
        return [Committed()] * len(commits)

    async def _write(self, commits: Sequence[Commit]) -> None:
        await asyncio.sleep(0.01)
        await self.inner.commit(commits)


class ShiftedLog(Passing):
    """Says of each delivery that it is one earlier or later than it is, as if counted at another time."""

    def __init__(self, inner: Any, shift: int) -> None:
        super().__init__(inner)
        self.shift = shift

    async def claim(self, topic: str, group: str, *, owner: str, limit: int, lease_ms: int) -> list[Delivery]:
        deliveries = await self.inner.claim(topic, group, owner=owner, limit=limit, lease_ms=lease_ms)
        return [msgspec.structs.replace(one, attempt=one.attempt + self.shift) for one in deliveries]


class LeapingTracker(OffsetTracker):
    """Commits the highest offset that is complete, whatever is open below it."""

    def complete(self, offset: int) -> bool:
        is_first = super().complete(offset)
        self.base = max(self.base, offset + 1)
        return is_first


def test_P4_a_record_that_is_accepted_without_a_look_at_its_owner_is_found() -> None:
    find(Parts(wrap_log=TrustingLog), r"P4: stale write: accept of .* with fence 1 < 2")


def test_P6_a_commit_past_an_open_record_is_found() -> None:
    find(Parts(make_tracker=LeapingTracker), r"P6: gap: commit of .* skips \[")


def test_P8_a_budget_that_is_read_before_the_claim_raised_it_is_found() -> None:
    find(
        Parts(wrap_ports=lambda log, state: (ShiftedLog(log, -1), state)),
        r"P8: immortal: .* is handed out for the 4th time",
    )


def test_P8_a_budget_that_counts_a_delivery_too_many_is_found() -> None:
    find(Parts(wrap_ports=lambda log, state: (ShiftedLog(log, 1), state)), r"P1: lost: .* is given up after 3 of 3")


def test_P4_a_state_that_does_not_look_at_the_fence_is_found() -> None:
    find(Parts(wrap_state=OpenState), r"P4: stale write: effect of ")


def test_P1_a_result_that_is_reported_before_its_commit_is_found() -> None:
    find(Parts(wrap_ports=lambda log, state: (log, HastyState(state))), r"P1: (early report|lost): ")


def test_what_was_found_is_told_with_seed_commit_and_a_command() -> None:
    report = find(Parts(wrap_state=OpenState), r"P4: stale write: ")
    told = explain(report)
    assert f"seed {report.seed} at commit " in told
    assert f"PYTHONHASHSEED=0 python -m gristmill.testing.simulate --seeds {report.seed}" in told
