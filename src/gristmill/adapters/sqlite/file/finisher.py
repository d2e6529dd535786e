"""Answers calls once their commits are durable: on a thread of its own where the disk takes its time, so that the
writer takes its next turn meanwhile; at once where the disk is quick, since a busy machine takes longer to change
threads.

A sync that fails leaves all in doubt that was committed and not durable, and whatever is committed on top of it. So
failures are counted, and a call whose turn began before the latest of them gets no answer but that one.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import apsw

from gristmill.adapters.sqlite.file.calls import Call, answer
from gristmill.adapters.sqlite.file.errors import translate
from gristmill.adapters.sqlite.file.syncing import SharedSync

__all__ = ["Finisher"]

QUICK_NS = 1_000_000
"""A sync that takes less on average (1 ms) is not worth a change of threads."""

MEMORY = 8
"""Syncs that the average is taken over, roughly."""


class Finisher:
    """Starts its thread when it first needs it. `put` belongs to one thread.

    Attributes:
        doubts: syncs that have failed so far.
    """

    def __init__(self, path: Path, shared_sync: SharedSync) -> None:
        self._path = path
        self._shared_sync = shared_sync
        self._waiting: queue.SimpleQueue[Sequence[Call] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._usual_ns = 0.0
        self._put_count = 0
        self._done_count = 0
        self.doubts = 0

    def put(self, calls: Sequence[Call]) -> None:
        """Have calls answered as soon as their commits are durable."""
        if self._usual_ns < QUICK_NS and self._put_count == self._done_count:
            self._finish(calls)
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="sqlite-finisher", daemon=True)
            self._thread.start()
        self._put_count += 1
        self._waiting.put(calls)

    def close(self) -> None:
        """Answer what is waiting and end the thread; safe to call twice."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        is_closing = False
        while not is_closing and (calls := self._waiting.get()) is not None:
            all_calls, count = list(calls), 1
            while not self._waiting.empty():
                more = self._waiting.get()
                if more is None:
                    is_closing = True
                    break
                all_calls += more
                count += 1
            self._finish(all_calls)
            self._done_count += count

    def _finish(self, calls: Sequence[Call]) -> None:
        began_ns = time.monotonic_ns()
        try:
            self._shared_sync.finish(max([call.commit for call in calls]))
        except apsw.Error as error:
            self._doubt(translate(error, self._path, is_committing=True))
        except Exception as error:
            # A caller must never wait for ever, whatever breaks here.
            self._doubt(error)
        self._usual_ns += (time.monotonic_ns() - began_ns - self._usual_ns) / MEMORY
        for call in calls:
            if call.doubts != self.doubts:
                call.error = self._error
        answer(calls)

    def _doubt(self, error: BaseException) -> None:
        self._error = error
        self.doubts += 1
