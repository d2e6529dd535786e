"""The one thread of a process that writes a store: whatever queues up during a turn shares the next one.

A turn is BEGIN IMMEDIATE .. COMMIT under the fair turn of all processes. The disk is synced after the turn, while
others have theirs, and only then is anybody answered: one sync serves every waiting caller, and whatever was committed
before it in any process. The log is one row of commits, so what is durable of it is its beginning, whole.
Jobs of a turn are written so that they do much with few statements: the interpreter lock is let go at every
statement, and a busy event loop would otherwise stretch the turn by its switch interval for each row.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import deque
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TypeVar

import apsw

from gristmill.adapters.local_host.turn import FairTurn
from gristmill.adapters.sqlite.file.calls import Call, Job, Turn, answer
from gristmill.adapters.sqlite.file.checkpointer import Checkpointer
from gristmill.adapters.sqlite.file.connection import StoreFile
from gristmill.adapters.sqlite.file.errors import translate
from gristmill.adapters.sqlite.file.finisher import Finisher
from gristmill.adapters.sqlite.file.names import Names
from gristmill.adapters.sqlite.file.syncing import OpenFile, SharedSync
from gristmill.domain.errors import OutcomeUnknown, Unavailable
from gristmill.ports.faults import fault

__all__ = ["Job", "Turn", "Writer"]

T = TypeVar("T")

TURN_US_MAX = 5_000
"""Estimated work of one turn; a single job may exceed it."""

SHARED_TURN_US_MAX = 2_500
"""The same where other processes write too: each waits half as long for the others, for a little more work in all."""

SHARED_TURNS = 100
"""Turns after which a process that saw nobody else write takes itself to be alone again."""

SHORT_TURN_US_MAX = 500
"""A turn with less work goes before those with more: somebody waits for an answer, and the others hardly notice."""

CHECKPOINT_PAGES = 500
"""After so many pages written the log is copied to the file (4 MiB): little and often, so that no sync is long."""


@dataclass
class Writer:
    """Owns the writing connection and its thread. `do` may be called from any event loop."""

    file: StoreFile
    turn: FairTurn
    _calls: queue.SimpleQueue[Call | None] = field(default_factory=queue.SimpleQueue)
    _left_over: deque[Call] = field(default_factory=deque)
    _data_version: int = -1
    _shared_turns_left: int = 0
    _is_closed: bool = False
    _doubts_cleared: int = 0

    def __post_init__(self) -> None:
        connection = self.file.open_writer(self.turn)
        # From here on commits are synced after their turn; SQLite goes on to sync what its own order depends on.
        connection.pragma("synchronous", "NORMAL")
        self._shared_sync = SharedSync(self.file.path, OpenFile.log(connection))
        self._finisher = Finisher(self.file.path, self._shared_sync)
        self._turn_context = Turn(connection, Names(connection))
        self._data_version = connection.data_version()
        self._checkpointer = Checkpointer(self.file)
        self._thread = threading.Thread(target=self._work, name="sqlite-writer", daemon=True)
        self._thread.start()

    @property
    def turn_us_max(self) -> int:
        """Work that a turn should hold now: less while other processes write too."""
        return SHARED_TURN_US_MAX if self._shared_turns_left else TURN_US_MAX

    async def do(self, job: Job[T]) -> T:
        """Run a job in the next turn and return its answer once it is durable.

        Raises:
            Unavailable: nothing was done.
            OutcomeUnknown: the disk failed while committing.
        """
        if self._is_closed:
            raise Unavailable(f"store {self.file.path} is closed", advice="open it again")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._calls.put(Call(job, loop, future))
        return await future

    def close(self) -> None:
        """Finish what is queued and close the connection; blocks for at most the last turns. Safe to call twice."""
        if not self._is_closed:
            self._is_closed = True
            self._calls.put(None)
            self._thread.join()
            self._checkpointer.close()

    def _work(self) -> None:
        while (calls := self._next_calls()) is not None:
            try:
                needed = [call for call in calls if self._is_needed(call)]
                if needed:
                    self._take_turn(needed)
            except Exception as error:
                # A caller must never wait for ever, whatever breaks here.
                for call in calls:
                    call.error = error
            answer([call for call in calls if not call.commit])
            if committed := [call for call in calls if call.commit]:
                self._finisher.put(committed)
            self._checkpoint_when_long()
        self._finisher.close()
        self._shared_sync.close()
        self._turn_context.db.close()

    def _next_calls(self) -> list[Call] | None:
        """Wait for calls and return as many as fit one turn; None when closed.

        The first one is always among them. Later ones that fit go before earlier ones that do not: a single record does
        not wait behind a row of large commits.
        """
        first = self._left_over.popleft() if self._left_over else self._calls.get()
        if first is None:
            return None
        waiting, self._left_over = self._left_over, deque()
        while not self._calls.empty():
            call = self._calls.get()
            if call is None:
                self._calls.put(None)
                break
            waiting.append(call)
        calls, work_us = [first], first.job.work_us
        most_us = max(self.turn_us_max, first.job.work_us + SHORT_TURN_US_MAX)
        for call in waiting:
            if work_us + call.job.work_us > most_us:
                self._left_over.append(call)
            else:
                work_us += call.job.work_us
                calls.append(call)
        return calls

    def _is_needed(self, call: Call) -> bool:
        if call.job.idle is None:
            return True
        try:
            call.answer = call.job.idle(self._turn_context)
        except apsw.Error as error:
            call.error = translate(error, self.file.path)
        finally:
            self._turn_context.names.keep()
        return call.answer is None and call.error is None

    def _take_turn(self, calls: list[Call]) -> None:
        error = self._try_turn(calls)
        if error is not None and len(calls) > 1 and not isinstance(error, OutcomeUnknown):
            # One of them is at fault: each alone, so that it does not take its neighbours with it.
            for call in calls:
                call.error = self._try_turn([call])
        elif error is not None:
            for call in calls:
                call.error = error
        for call in calls:
            if call.job.finish is not None and call.error is None:
                self._finish(call)

    def _finish(self, call: Call) -> None:
        try:
            call.answer = call.job.finish(self._turn_context, call.answer) if call.job.finish else call.answer
        except apsw.Error as error:
            call.error = translate(error, self.file.path)

    def _try_turn(self, calls: list[Call]) -> BaseException | None:
        """Run calls in one transaction; return what went wrong, then nothing of it is done for sure."""
        try:
            doubts = self._finisher.doubts
            if doubts != self._doubts_cleared:
                self._start_log_over()
                self._doubts_cleared = doubts
            with self._turn_for(calls):
                self._run_all(calls)
                number = self._shared_sync.note_commit()
        except apsw.Error as error:
            return translate(error, self.file.path)
        except Exception as error:
            return error
        if self.file.synchronous == "FULL":
            for call in calls:
                call.commit, call.doubts = number if call.job.is_durable else 0, doubts
        return None

    def _turn_for(self, calls: list[Call]) -> AbstractContextManager[None]:
        if sum(call.job.work_us for call in calls) > SHORT_TURN_US_MAX:
            return self.turn.long()
        return self.turn.first() if any(call.job.is_awaited for call in calls) else self.turn

    def _run_all(self, calls: list[Call]) -> None:
        db, names = self._turn_context.db, self._turn_context.names
        db.execute("BEGIN IMMEDIATE")
        self._look_for_others()
        try:
            for call in calls:
                call.answer = call.job.run(self._turn_context)
            fault("commit.written")
            self._commit(db)
            self._data_version = db.data_version()
        except BaseException:
            names.forget_added()
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        names.keep()

    def _commit(self, db: apsw.Connection) -> None:
        try:
            db.execute("COMMIT")
        except apsw.Error as error:
            raise translate(error, self.file.path, is_committing=True) from error

    def _start_log_over(self) -> None:
        """Copy all of the log to the file after a failed sync: nothing then depends on what the log may lack."""
        with self.turn.long():
            self._turn_context.db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)

    def _look_for_others(self) -> None:
        if self._turn_context.db.data_version() != self._data_version:
            self._shared_turns_left = SHARED_TURNS
        elif self._shared_turns_left:
            self._shared_turns_left -= 1

    def _checkpoint_when_long(self) -> None:
        written, _ = self._turn_context.db.status(apsw.SQLITE_DBSTATUS_CACHE_WRITE)
        if written >= CHECKPOINT_PAGES:
            self._turn_context.db.status(apsw.SQLITE_DBSTATUS_CACHE_WRITE, True)
            self._checkpointer.request()
