"""The state port over one SQLite file."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from gristmill.adapters.checks import check_commits, check_input_ids, check_limit, check_run_id
from gristmill.adapters.grouping import indexes_by_lease
from gristmill.adapters.sqlite.file.reader import Reader
from gristmill.adapters.sqlite.file.writer import Job, Turn, Writer
from gristmill.adapters.sqlite.state import identities, reading
from gristmill.adapters.sqlite.state.committing import write_commits
from gristmill.adapters.sqlite.state.fencing import raise_fences
from gristmill.adapters.sqlite.state.packed import PackedCommits, pack_commits
from gristmill.adapters.sqlite.state.resolving import read_contributions
from gristmill.domain.commit import Commit, CommitOutcome, StoredQuarantine, StoredRun
from gristmill.domain.contribution import Resolved
from gristmill.domain.errors import OutcomeUnknown, Unavailable
from gristmill.domain.ids import ItemId, RunId, Segment, decide_segment
from gristmill.domain.input_key import TENANT_DEFAULT, InputKey
from gristmill.domain.item import Item
from gristmill.domain.log import Lease
from gristmill.domain.run import Event
from gristmill.ports.faults import fault

__all__ = ["SqliteState"]

COMMIT_US = 35
"""Work of one run inside a turn, generously. A call with more than fits takes several, with those of others between."""

READ_SEGMENT = "SELECT day, next FROM id_segment WHERE namespace = ?"
WRITE_SEGMENT = "INSERT OR REPLACE INTO id_segment(namespace, day, next) VALUES(?, ?, ?)"


class SqliteState:
    """See `ports.state.State`. Processes that open the same file share it.

    Args:
        is_log_apart: records come from another log than the one in this file.
    """

    def __init__(self, writer: Writer, reader: Reader, *, is_log_apart: bool = False) -> None:
        self.capabilities = frozenset({"durable"} if is_log_apart else {"shares_log", "durable"})
        self._writer = writer
        self._reader = reader
        self._is_log_apart = is_log_apart

    async def commit(self, commits: Sequence[Commit]) -> list[CommitOutcome]:
        """Write many ended runs and return one outcome each, in input order; durable once returned.

        Raises:
            Unavailable: nothing was written.
            OutcomeUnknown: some were written; repeating them all is safe, since run ids are keys.
        """
        check_commits(commits)
        if COMMIT_US * len(commits) <= self._writer.turn_us_max:
            packed = pack_commits(commits, is_log_apart=self._is_log_apart)
            fault("commit.before")
            outcomes = await self._write(packed)
        else:
            outcomes = await self._commit_in_turns(commits)
        fault("commit.after")
        return outcomes

    async def resolve(
        self, source: str, input_ids: Sequence[str], *, tenant: str = TENANT_DEFAULT
    ) -> dict[str, ItemId]:
        """Return the item ids of those input ids that are known."""
        check_input_ids(input_ids)
        return await self._reader.do(lambda db: identities.resolve_ids(db, tenant, source, input_ids))

    async def map_ids(
        self, source: str, proposed: Mapping[str, ItemId], *, tenant: str = TENANT_DEFAULT
    ) -> dict[str, ItemId]:
        """Give each input id its proposed item id unless it has one, and return what each has now."""
        check_input_ids(proposed)
        return await self._writer.do(Job(lambda turn: identities.map_ids(turn, tenant, source, proposed)))

    async def input_keys(self, item_ids: Sequence[ItemId]) -> dict[ItemId, InputKey]:
        """Return what the outside world calls these items; unknown ones are absent."""
        return await self._reader.do(lambda db: identities.read_keys(db, item_ids))

    async def take_segment(self, namespace: str, *, day: int, step: int) -> Segment:
        """Take `step` running numbers for good, in one durable transaction."""

        def run(turn: Turn) -> Segment:
            segment = decide_segment(turn.db.execute(READ_SEGMENT, (namespace,)).get, day=day, step=step)
            turn.db.execute(WRITE_SEGMENT, (namespace, segment.day, segment.stop))
            return segment

        return await self._writer.do(Job(run))

    async def ended(self, run_ids: Sequence[RunId]) -> set[RunId]:
        """Return those run ids that ended well in a commit that did not accept their record."""
        for run_id in run_ids:
            check_run_id(run_id)
        return await self._reader.do(lambda db: reading.read_ended(db, run_ids))

    async def fence(self, leases: Sequence[Lease], *, until_ms: int) -> None:
        """Refuse what earlier holders of these records bring; durable once returned."""
        if self._is_log_apart and leases:
            await self._writer.do(Job(lambda turn: raise_fences(turn, leases, until_ms=until_ms)))

    async def item(self, item_id: ItemId) -> Item | None:
        """Return the newest revision of an item."""
        return await self._reader.do(lambda db: reading.read_item(db, item_id))

    async def runs(self, item_id: ItemId) -> list[StoredRun]:
        """Return all runs of an item, oldest position first."""
        return (await self._reader.do(lambda db: reading.read_runs(db, [item_id]))).get(item_id, [])

    async def runs_between(self, generator: str, *, after: int, limit: int) -> list[StoredRun]:
        """Return runs of a generator with position > `after`; the last position is complete."""
        check_limit(limit)
        return await self._reader.do(lambda db: reading.read_runs_between(db, generator, after=after, limit=limit))

    async def events(self, item_id: ItemId) -> list[Event]:
        """Return the events of an item in the order they were committed."""
        return await self._reader.do(lambda db: reading.read_events(db, item_id))

    async def contributions(self, item_ids: Sequence[ItemId]) -> dict[ItemId, list[Resolved]]:
        """Return the contributions of items as they stand now; items without any are absent."""
        return await self._reader.do(lambda db: read_contributions(db, item_ids))

    async def quarantined(self, generator: str = "", *, after: int = 0, limit: int = 100) -> list[StoredQuarantine]:
        """Return quarantined records with position > `after` by position, optionally of one generator."""
        check_limit(limit)
        return await self._reader.do(lambda db: reading.read_quarantined(db, generator, after=after, limit=limit))

    async def counts(self) -> Mapping[str, int]:
        """Return row counts; kept as the rows are written, so never a scan."""
        return await self._reader.do(reading.read_counts)

    async def _commit_in_turns(self, commits: Sequence[Commit]) -> list[CommitOutcome]:
        most = max(1, self._writer.turn_us_max // COMMIT_US)
        cut = [(indexes, [commits[index] for index in indexes]) for indexes in _cut(commits, most)]
        parts = [(indexes, pack_commits(some, is_log_apart=self._is_log_apart)) for indexes, some in cut]
        fault("commit.before")
        answers = await asyncio.gather(*(self._write(packed) for _, packed in parts), return_exceptions=True)
        errors = [answer for answer in answers if isinstance(answer, BaseException)]
        if errors:
            raise _worst(errors, is_partial=len(errors) < len(answers))
        outcomes: dict[int, CommitOutcome] = {}
        for (indexes, _), answer in zip(parts, answers, strict=True):
            outcomes.update(zip(indexes, answer, strict=True))  # type: ignore[arg-type]
        return [outcomes[index] for index in range(len(commits))]

    async def _write(self, packed: PackedCommits) -> list[CommitOutcome]:
        job = Job(lambda turn: write_commits(turn, packed), COMMIT_US * len(packed.commits))
        return await self._writer.do(job)


def _cut(commits: Sequence[Commit], most: int) -> Iterator[list[int]]:
    """Cut a call into parts of at most `most` commits without parting what shares a lease."""
    part: list[int] = []
    for indexes in indexes_by_lease(commits):
        if part and len(part) + len(indexes) > most:
            yield part
            part = []
        part += indexes
    if part:
        yield part


def _worst(errors: Sequence[BaseException], *, is_partial: bool) -> BaseException:
    """Return the error of a call: only when every part failed cleanly was nothing done."""
    worst = next((error for error in errors if not isinstance(error, Unavailable)), errors[0])
    worst = next((error for error in errors if isinstance(error, OutcomeUnknown)), worst)
    if is_partial and isinstance(worst, Unavailable) and not isinstance(worst, OutcomeUnknown):
        return OutcomeUnknown(worst.thing, value=worst.value, advice="part of the call is written: repeat it all")
    return worst
