"""One process as a member of one Kafka consumer group: its partitions and its commits, on the event loop.

Everything that decides happens here, batch by batch; the thread beside it only carries. Commits are built and sent one
at a time, so that an older one never overtakes a later one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import structlog
from confluent_kafka import KafkaException, Message, TopicPartition

from gristmill.adapters.kafka.core.book import Book, Partition
from gristmill.adapters.kafka.core.start import Start
from gristmill.adapters.kafka.core.tracker import OffsetTracker
from gristmill.adapters.kafka.core.wire import read_record
from gristmill.adapters.kafka.polling import PollThread
from gristmill.adapters.kafka.producing import translate
from gristmill.adapters.kafka.settings import KafkaSettings
from gristmill.ports.clock import Clock

__all__ = ["CUT_OFF_S", "GroupMember"]

COMMIT_INTERVAL_MS = 1_000
COMPLETIONS_PER_COMMIT = 500

CUT_OFF_S = 6.0
"""After so long without a sign of any broker a member says so, instead of finding that there is nothing to do."""

_log = structlog.get_logger()


class GroupMember:
    """Fills a book with what this process is assigned and commits how far it has come.

    Args:
        sources: Kafka topics: the group's own, then its retry topics.
        on_records: told on the loop when there may be something to claim.
        is_foreign: the group's own topic is written by somebody else, whose headers mean nothing to us.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        *,
        kafka_group: str,
        sources: Sequence[str],
        book: Book,
        clock: Clock,
        on_records: Callable[[], None],
        is_foreign: bool = False,
    ) -> None:
        self.book = book
        self.sources = tuple(sources)
        self.is_handing_over = False
        """Whether partitions are leaving; until running work there has ended nothing can be committed or claimed."""
        self.lost_count = 0
        self.left_out_count = 0
        self.starts: dict[Partition, int] = {}
        """Where each partition ended when it was assigned."""
        self.assigned = asyncio.Event()
        self._settings = settings
        self._clock = clock
        self._on_records = on_records
        self._is_foreign = is_foreign
        self._moved = asyncio.Event()
        self._let_go = asyncio.Event()
        self._commit_due = asyncio.Event()
        self._commit_lock = asyncio.Lock()
        self._committed: dict[Partition, tuple[int, str]] = {}
        self._completed_seen = 0
        self._paused: set[Partition] = set()
        self._is_closed = False
        self._thread = PollThread(settings, kafka_group=kafka_group, topics=self.sources, listener=self)
        self._committer = asyncio.create_task(self._commit_now_and_then(), name=f"commits of {kafka_group}")

    async def close(self) -> None:
        """Commit and leave the group; running work is not waited for."""
        if self._is_closed:
            return
        self._is_closed = True
        self._let_go.set()
        self._committer.cancel()
        await asyncio.wait([self._committer])
        await self._thread.close()

    @property
    def is_cut_off(self) -> bool:
        """Whether no broker has answered for some time."""
        return asyncio.get_running_loop().time() - self._thread.heard_at_s > CUT_OFF_S

    def note_change(self) -> None:
        """Take note that records were claimed or ended: fetch on where there is room, commit where enough is done."""
        self._regulate()
        self._let_go.set()
        completed = sum(tracker.completed_count for tracker in self.book.trackers.values())
        self._completed_seen = min(self._completed_seen, completed)  # Partitions that left took theirs along.
        if completed - self._completed_seen >= COMPLETIONS_PER_COMMIT:
            self._completed_seen = completed
            self._commit_due.set()

    async def caught_up(self, ends: dict[Partition, int]) -> None:
        """Wait until the book has everything below these offsets, for a member that is alone in its group."""
        await self.assigned.wait()
        while any(
            partition not in self.book.trackers or self.book.trackers[partition].end < end
            for partition, end in {**self.starts, **ends}.items()
        ):
            self._moved.clear()
            await self._moved.wait()

    async def commit(self) -> None:
        """Commit how far every partition is.

        Raises:
            Unavailable: nothing is committed; the partitions may be ours no more.
        """
        async with self._commit_lock:
            wanted = self._to_commit(list(self.book.trackers))
            if not wanted:
                return
            try:
                answers = await self._thread.commit(wanted)
            except (KafkaException, RuntimeError) as error:
                raise translate(error, "progress cannot be committed") from error
            self._note_committed(wanted)
            for answer in answers:
                if answer.error is not None:
                    self._committed.pop((answer.topic, answer.partition), None)
                    raise translate(KafkaException(answer.error), "progress cannot be committed")

    def take(self, messages: Sequence[Message]) -> None:
        """Put fetched messages into the book."""
        now_ms = self._clock.now_ms()
        has_news = False
        for message in messages:
            topic, number, offset = message.topic(), message.partition(), message.offset()
            if topic is None or number is None or offset is None:
                continue
            fetched = read_record(
                (topic, number),
                offset,
                value=message.value(),
                key=message.key(),
                headers=message.headers() or [],  # type: ignore[arg-type]
                at_ms=message.timestamp()[1],
                is_copy=topic != self.sources[0],
                is_foreign=self._is_foreign and topic == self.sources[0],
            )
            if fetched is None:
                self._skip((topic, number), offset)
            else:
                has_news = self.book.on_fetched(fetched, now_ms=now_ms) or has_news
        self._regulate()
        self._moved.set()
        if has_news:
            self._on_records()

    def _skip(self, partition: Partition, offset: int) -> None:
        _log.warning("a retry topic holds what nobody here wrote", topic=partition[0], offset=offset)
        tracker = self.book.trackers.get(partition)
        if tracker is not None and tracker.on_fetched(offset):
            tracker.complete(offset)

    def begin(self, starts: Sequence[tuple[Partition, Start, int]]) -> None:
        """Begin with partitions, each at its start."""
        for partition, start, high in starts:
            if start.lost:
                self.lost_count += start.lost
                _log.error("records are lost to a group", topic=partition[0], partition=partition[1], lost=start.lost)
            self.book.unassign(partition)  # Where the place was lost while it was ours, what we hold of it is gone.
            self.book.assign(partition, OffsetTracker(start.base, start.metadata))
            self.starts[partition] = high
            self._paused.discard(partition)
            self._committed.pop(partition, None)
        self.assigned.set()
        self._moved.set()
        # A group's first place is committed at once, so that a later loss of it can be told from a new group.
        self._commit_due.set()

    async def hand_over(self, partitions: set[Partition]) -> list[TopicPartition]:
        """Let running work of these partitions end, then forget them; return what is to be committed for them."""
        self.is_handing_over = True
        try:
            self.book.withdraw(partitions)
            await self._until_let_go(partitions)
            return self._to_commit(list(partitions))
        finally:
            self.forget(partitions)
            self.is_handing_over = False

    def forget(self, partitions: set[Partition]) -> None:
        """Forget partitions; what is under lease there is lost."""
        for partition in partitions:
            self.book.unassign(partition)
            self.starts.pop(partition, None)
            self._committed.pop(partition, None)
            self._paused.discard(partition)
        self._moved.set()

    async def _until_let_go(self, partitions: set[Partition]) -> None:
        """Wait until nothing of these partitions is under lease, at most for `drain_ms`."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._settings.drain_ms / 1_000
        while self.book.leased_in(partitions) and (left_s := deadline - loop.time()) > 0 and not self._is_closed:
            self._let_go.clear()
            try:
                await asyncio.wait_for(self._let_go.wait(), left_s)
            except TimeoutError:
                return

    def _to_commit(self, partitions: Sequence[Partition]) -> list[TopicPartition]:
        wanted: list[TopicPartition] = []
        for partition in partitions:
            tracker = self.book.trackers.get(partition)
            if tracker is None:
                continue
            base, text, left_out = tracker.to_commit()
            if self._committed.get(partition) != (base, text):
                self.left_out_count += left_out
                wanted.append(TopicPartition(*partition, base, text))
        return wanted

    def _note_committed(self, offsets: Sequence[TopicPartition]) -> None:
        for one in offsets:
            self._committed[one.topic, one.partition] = (one.offset, one.metadata or "")

    async def _commit_now_and_then(self) -> None:
        while True:
            try:
                async with asyncio.timeout(COMMIT_INTERVAL_MS / 1_000):
                    await self._commit_due.wait()
            except TimeoutError:
                pass
            self._commit_due.clear()
            try:
                await self.commit()
            except Exception as error:
                _log.warning("progress is not committed", group=self.book.group, error=str(error))

    def _regulate(self) -> None:
        """Pause partitions that have enough out, and resume the others."""
        settings, book = self._settings, self.book
        is_heavy = book.fresh_bytes > settings.fetched_bytes_max
        full = {
            partition
            for partition, tracker in book.trackers.items()
            if is_heavy or tracker.is_full or tracker.open_count >= settings.fetched_max
        }
        if full == self._paused:
            return
        self._thread.pause(full - self._paused)
        self._thread.resume(self._paused - full)
        self._paused = full
