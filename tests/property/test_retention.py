"""Whatever happened before, a sweep spares what is still needed: records not accepted, and the newest run of a plan."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.ids import ItemId, compute_run_id
from gristmill.domain.upkeep.retention import RetentionRules
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import make_commit, records
from tests.property.test_log_machine import GROUPS, SqliteLogMachine

DAY_MS = 86_400_000
NOW_MS = 400 * DAY_MS
AGE_DAYS = 30


class SweptLogMachine(SqliteLogMachine):
    """The log behaves for its groups as if nothing was ever let go of."""

    @rule(is_impatient=st.booleans())
    def sweep(self, is_impatient: bool) -> None:
        groups = {"t": GROUPS}
        rules = RetentionRules(letters_ms=1 if is_impatient else 0, groups=groups)
        self.run(self.swept(rules))
        kept = {record.offset for record in self.run(self.read_all())}
        for (_, offset), place in self.places.items():
            assert place.place == "accepted" or offset in kept, (offset, place)

    async def swept(self, rules: RetentionRules) -> None:
        store = self.backends.store
        assert store is not None
        # The clock of the test stands still while it sweeps; pauses go by one of their own.
        store.upkeep._clock = FakeClock(is_jumping=True)
        await store.upkeep.sweep(rules, now_ms=self.clock.now_ms())

    async def read_all(self) -> list:  # type: ignore[type-arg]
        return [record async for batch in self.log.read_all("t") for record in batch]


TestSweptLogMachine = SweptLogMachine.TestCase
TestSweptLogMachine.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)


class Ran(NamedTuple):
    item: int
    plan: str
    age_days: int
    has_record: bool


RUNS = st.lists(
    st.builds(Ran, st.integers(1, 3), st.sampled_from("ab"), st.sampled_from([0, 29, 30, 31, 60]), st.booleans()),
    min_size=1,
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(RUNS, st.randoms(use_true_random=False))
def test_the_newest_run_of_each_plan_over_an_item_always_stays(runs: list[Ran], chance: object) -> None:
    asyncio.run(_check(runs, chance))


async def _check(runs: list[Ran], chance: object) -> None:
    with tempfile.TemporaryDirectory() as folder:
        clock = FakeClock(start_ms=NOW_MS, is_jumping=True)
        store = SqliteStore.open(Path(folder) / "s.sqlite", clock=clock, owner="me", synchronous="NORMAL")
        try:
            last = await _commit(store, runs, chance)
            rules = RetentionRules(runs_ms=AGE_DAYS * DAY_MS, inputs_ms=1)
            for _ in range(2):
                await store.upkeep.sweep(rules, now_ms=NOW_MS)
            kept = {
                (run.item_id, run.plan, run.position)
                for item in {run.item for run in runs}
                for run in await store.state.runs(ItemId(item))
            }
            assert kept == set(_expected(runs, last=last))
        finally:
            await store.close()


async def _commit(store: SqliteStore, runs: list[Ran], chance: object) -> int:
    """Commit runs and return the position of the last; those without a record stand where nothing was appended."""
    commits = [
        make_commit(
            run.item,
            run_id=compute_run_id(generator="gen", topic="t", offset=position, plan=run.plan),
            plan=run.plan,
            position=_place(position, run),
            ended_at_ms=NOW_MS - run.age_days * DAY_MS,
        )
        for position, run in enumerate(runs, start=1)
    ]
    await store.log.append("run.kept", records(*["x"] * len(runs)))
    chance.shuffle(commits)  # type: ignore[attr-defined]
    # In the order of their ends, as a group would: but for those that ended on one day, which come in any order.
    commits.sort(key=lambda commit: commit.ended_at_ms)
    for commit in commits:
        await store.state.commit([commit])
    return commits[-1].position


def _place(position: int, run: Ran) -> int:
    return position if run.has_record else position + 1_000


def _expected(runs: list[Ran], *, last: int) -> list[tuple[int, str, int]]:
    placed = [(run, _place(position, run)) for position, run in enumerate(runs, start=1)]
    kept = []
    for run, place in placed:
        is_newest = place == max(p for other, p in placed if (other.item, other.plan) == (run.item, run.plan))
        if is_newest or run.age_days < AGE_DAYS or run.has_record or place == last:
            kept.append((run.item, run.plan, place))
    return kept
