"""Writes ended records, as many a commit as have come together, and tells what became of each.

There is no timer: while one commit is on its way to the disk the next one gathers, so batches grow just as far as
the disk is slow. A commit that cannot be made now is tried until it can; its leases are renewed meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

import msgspec
import structlog

from gristmill.domain.commit import Commit, CommitOutcome, Committed, Conflict, Fenced
from gristmill.domain.errors import ConfigError, InvariantBroken, Unavailable
from gristmill.domain.frame import RecordEnded
from gristmill.domain.log import Diagnosis, Lease
from gristmill.engine.core.backoff import Backoff
from gristmill.engine.core.recovery import cut_error_text
from gristmill.engine.metrics import Ending, EngineMetrics, RunTally
from gristmill.engine.wake import Wake
from gristmill.engine.work.compose import compose_commits
from gristmill.engine.work.record import Work
from gristmill.ports.clock import Clock
from gristmill.ports.log import Log
from gristmill.ports.state import State

__all__ = ["WriteBack"]

RUNS_PER_COMMIT_MAX = 256
"""About 5 ms of a store's time: what a turn at a shared file may take."""

UNWRITTEN_MAX = 512
"""Ended records that wait; more hold up the execution."""

RETRY_MS_MIN = 100
RETRY_MS_MAX = 5_000

T = TypeVar("T")

_log = structlog.get_logger()


class WriteBack:
    """Commits, accepts and reports.

    Args:
        report: takes pairs of a record and its ending, once it is written.
        rerun: takes a record whose item has got another id meanwhile.
    """

    def __init__(
        self,
        *,
        state: State,
        log: Log,
        clock: Clock,
        versions: Mapping[str, int],
        metrics: EngineMetrics,
        report: Callable[[Sequence[tuple[Work, RecordEnded]]], Awaitable[None]],
        rerun: Callable[[Work, Conflict], None],
    ) -> None:
        self._state = state
        self._log = log
        self._clock = clock
        self._versions = versions
        self._metrics = metrics
        self._tally = RunTally(metrics)
        self._report = report
        self._rerun = rerun
        self._accepts_inside = "shares_log" in state.capabilities
        self._leaves_accepting = "claimer_settles" in log.capabilities
        self._waiting: deque[_Ready] = deque()
        self._filled = Wake()
        self._emptied = Wake()

    async def put(self, works: Sequence[Work]) -> None:
        """Have ended records written; wait while too many are waiting."""
        while len(self._waiting) >= UNWRITTEN_MAX:
            await self._emptied.wait()
        # All that needs a look at the runs happens here, while they are still in the processor's caches.
        self._waiting.extend([self._make_ready(work) for work in works])
        self._filled.set()

    async def run(self) -> None:
        """Write what is put, for ever."""
        while True:
            while not self._waiting:
                await self._filled.wait()
            batch = self._take()
            self._emptied.set()
            await self._write(batch)

    def _make_ready(self, work: Work) -> _Ready:
        has_callbacks = False
        for done in work.done:
            ended = done.ended
            self._tally.add_run(done.todo.plan, ended.status, ended.tasks, duration_us=done.duration_us)
            has_callbacks = has_callbacks or bool(ended.on_end)
        now_ms = self._clock.now_ms() if work.faults is not None else 0
        diagnosis = work.diagnose()
        accept = self._accepts_inside and diagnosis is None
        commits = compose_commits(work, versions=self._versions, accept=accept, now_ms=now_ms)
        return _Ready(work, commits, diagnosis, has_callbacks)

    def _take(self) -> list[_Ready]:
        """Take as many waiting records as fit into one commit, at least one."""
        batch: list[_Ready] = []
        run_count = 0
        while self._waiting and run_count < RUNS_PER_COMMIT_MAX:
            ready = self._waiting.popleft()
            batch.append(ready)
            run_count += len(ready.commits)
        return batch

    async def _write(self, batch: Sequence[_Ready]) -> None:
        outcomes = await self._commit_all([ready.commits for ready in batch])
        endings: list[tuple[Work, RecordEnded]] = []
        now_us = self._clock.monotonic_us()
        to_accept: list[Lease] = []
        for ready, outcome in zip(batch, outcomes, strict=True):
            work = ready.work
            if isinstance(outcome, Conflict):
                self._metrics.conflicts.inc()
                await self._call_back(work, is_written=False)
                self._rerun(work, outcome)
                continue
            ended = _decide_ending(ready, outcome)
            # Where only the claimer can, the dispatcher accepts as soon as it hears that the record has ended.
            if ended.accepted and not self._leaves_accepting and not (self._accepts_inside and ready.commits):
                to_accept.append(ended.lease)
            self._tally.add_record(_name_ending(ready, ended), duration_us=now_us - work.received_at_us)
            if ready.has_callbacks:
                await self._call_back(work, is_written=not ended.fenced)
            endings.append((work, ended))
        self._metrics.commits.inc()
        self._tally.flush()
        await self._report(await self._accept(endings, to_accept) if to_accept else endings)

    async def _commit_all(self, commits: Sequence[Sequence[Commit]]) -> list[CommitOutcome | Diagnosis]:
        """Return one outcome for each record: what its first commit that was refused got, or Committed."""
        try:
            return await self._commit(commits)
        except (ConfigError, InvariantBroken):
            # The store is at fault, not a record: no other commit fares better, and nobody should take it for done.
            raise
        except Exception as error:
            if len(commits) == 1:
                _log.exception("a record cannot be committed")
                text = cut_error_text(f"{type(error).__name__}: {error}")
                return [Diagnosis(error_class=type(error).__name__, error_text=text)]
        # Something in one of them cannot be written; alone, each of the others can.
        return [outcome for each in commits for outcome in await self._commit_all([each])]

    async def _commit(self, commits: Sequence[Sequence[Commit]]) -> list[CommitOutcome | Diagnosis]:
        flat = [commit for each in commits for commit in each]
        if not flat:
            return [Committed()] * len(commits)
        outcomes = await self._until_available(lambda: self._state.commit(flat))
        return _per_record(commits, outcomes)

    async def _accept(
        self, endings: Sequence[tuple[Work, RecordEnded]], leases: Sequence[Lease]
    ) -> Sequence[tuple[Work, RecordEnded]]:
        """Accept in the log what no commit has: the store is apart from it, or there was nothing to write."""
        answers = await self._until_available(lambda: self._log.accept(leases))
        lost = {lease for lease, is_ours in zip(leases, answers, strict=True) if not is_ours}
        return [
            (work, RecordEnded(ended.lease, accepted=False, fenced=True) if ended.lease in lost else ended)
            for work, ended in endings
        ]

    async def _until_available(self, call: Callable[[], Awaitable[T]]) -> T:
        backoff = Backoff(min_ms=RETRY_MS_MIN, max_ms=RETRY_MS_MAX)
        while True:
            try:
                return await call()
            except Unavailable as error:
                pause_ms = backoff.on_failure(now_ms=self._clock.now_ms())
                _log.warning("results cannot be written", error=str(error), retry_in_ms=pause_ms)
                await self._clock.sleep_ms(pause_ms)

    async def _call_back(self, work: Work, *, is_written: bool) -> None:
        for done in work.done:
            for callback in done.ended.on_end:
                try:
                    await callback(is_written and done.ended.is_success)
                except Exception:
                    self._metrics.callback_errors.inc()
                    _log.exception("callback of a run failed", plan=done.todo.plan, run_id=done.todo.run_id)


class _Ready(msgspec.Struct, frozen=True, gc=False):
    """A record with what is to be written for it, and what is to be told once it is."""

    work: Work
    commits: Sequence[Commit]
    diagnosis: Diagnosis | None
    has_callbacks: bool


def _per_record(
    commits: Sequence[Sequence[Commit]], outcomes: Sequence[CommitOutcome]
) -> list[CommitOutcome | Diagnosis]:
    if len(commits) == len(outcomes) and all(commits):
        return list(outcomes)
    ordered = iter(outcomes)
    found: list[CommitOutcome | Diagnosis] = []
    for each in commits:
        mine = [next(ordered) for _ in each]
        found.append(next((outcome for outcome in mine if not isinstance(outcome, Committed)), Committed()))
    return found


def _decide_ending(ready: _Ready, outcome: CommitOutcome | Diagnosis) -> RecordEnded:
    lease = ready.work.delivery.lease
    if isinstance(outcome, Fenced):
        return RecordEnded(lease, accepted=False, fenced=True)
    diagnosis = outcome if isinstance(outcome, Diagnosis) else ready.diagnosis
    return RecordEnded(lease, diagnosis is None, False, diagnosis)


def _name_ending(ready: _Ready, ended: RecordEnded) -> Ending:
    if ended.accepted:
        return "success" if ready.work.faults is None else "quarantined"
    return "fenced" if ended.fenced else "failed"
