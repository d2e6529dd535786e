"""One subscription at work: read a stretch, send what it means, note that it is done.

The position moves only when every message of a stretch is with the receiver. Killed at any moment, the stretch is read
again: what the receiver may have got without our knowing is told again, whatever we remember of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import structlog

from gristmill.deliver.core.messages import Message, decide_messages
from gristmill.deliver.core.schedule import RETRIES_S, decide_pause_ms
from gristmill.deliver.core.selecting import Selector
from gristmill.deliver.feed import Feed, Stretch
from gristmill.deliver.metrics import DeliveryMetrics
from gristmill.deliver.sending import Sending, Tried, split
from gristmill.domain.delivery import Attempt, Progress, Subscription
from gristmill.domain.errors import StaleRead, Unavailable
from gristmill.domain.ids import ItemId
from gristmill.ports.clock import Clock, Random
from gristmill.ports.delivery import Change, Deliveries, SentColumns
from gristmill.ports.faults import fault

__all__ = ["Courier", "CourierTools"]

REQUESTS_AT_ONCE = 4
"""Of one subscription; a stretch names each item once, so no two are about one item."""

FAILURES_PER_ROUND_MAX = 5
"""In a row; then the rest of the stretch waits for the next round: the receiver is down, not unlucky."""

SAVE_EVERY_MS = 5_000
"""Where nothing is sent: progress that is lost is only read again."""

STORE_PAUSE_MS = 1_000

_log = structlog.get_logger()


class CourierTools(msgspec.Struct, frozen=True):
    """What all couriers of a process share.

    Attributes:
        retries_s: pauses before the retries of a receiver that fails.
    """

    deliveries: Deliveries
    feed: Feed
    sending: Sending
    clock: Clock
    random: Random
    metrics: DeliveryMetrics
    retries_s: Sequence[float] = RETRIES_S


class Courier:
    """Delivers for one subscription until it is no longer active or somebody else changes its progress."""

    def __init__(self, subscription: Subscription, selector: Selector, progress: Progress, tools: CourierTools) -> None:
        self.subscription = subscription
        self.progress = progress
        self.is_saving = False
        self.wake = asyncio.Event()
        self._selector = selector
        self._tools = tools
        self._saved_position = progress.position
        self._saved_at_ms = tools.clock.now_ms()
        self._free_at_ms = 0
        self._number = tools.feed.number
        self._unsure_upto: int | None = None
        """End of the first stretch: an earlier courier may have sent of it what nobody has noted."""
        self._unsure: set[ItemId] = set()
        self._told: set[ItemId] = set()
        """Of the present stretch: its failures are tried again without those that the receiver has taken."""

    async def run(self) -> None:
        """Deliver; returns when the subscription is not active, or was changed by somebody else."""
        while self.progress.status == "active":
            try:
                await self._step()
            except StaleRead:
                return
            except Unavailable as error:
                _log.warning("delivery waits for the store", subscription=self.subscription.address, error=str(error))
                await self._tools.clock.sleep_ms(STORE_PAUSE_MS)

    async def _step(self) -> None:
        pause_ms = self.progress.next_at_ms - self._tools.clock.now_ms()
        if pause_ms > 0:
            await self._tools.clock.sleep_ms(pause_ms)
        self.wake.clear()
        stretch = await self._tools.feed.read(self.progress.position, newer_than=self._number)
        self._number = stretch.number
        if self._unsure_upto is None:
            may_know = stretch.changes if self.progress.has_begun else []
            self._unsure_upto = max((change.position for change in may_know), default=0)
        if stretch.changes:
            await self._deliver(stretch)
        else:
            self._tools.metrics.lag.labels(self.subscription.address).set(0)
            await self._rest()

    async def _rest(self) -> None:
        """Wait for a change; a position that has moved is written down after a while all the same."""
        waiting = [asyncio.ensure_future(self.wake.wait())]
        try:
            if self.progress.position != self._saved_position:
                due_ms = max(1, self._saved_at_ms + SAVE_EVERY_MS - self._tools.clock.now_ms())
                waiting.append(asyncio.ensure_future(self._tools.clock.sleep_ms(due_ms)))  # type: ignore[arg-type]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()
        await self._save_position(is_due=False)

    async def _deliver(self, stretch: Stretch) -> None:
        items = list({change.item_id for change in stretch.changes})
        sent = await self._tools.deliveries.sent(self.progress.subscription_id, items)
        messages = decide_messages(
            self.subscription,
            self._selector,
            stretch.changes,
            stretch.views,
            sent,
            is_again=self._is_again,
            is_unsure=self._is_unsure,
            again_mark=f"-r{self.progress.replays}",
        )
        self._count_row_errors()
        if not messages:
            self._told.clear()
            self.progress = msgspec.structs.replace(self.progress, position=stretch.changes[-1].position)
            await self._save_position(is_due=False)
            return
        # What is under way must lie in the first stretch behind what is noted; see `_unsure_upto`.
        if not self.progress.has_begun:
            self.progress = msgspec.structs.replace(self.progress, has_begun=True)
            await self._save({}, [])
        await self._save_position(is_due=True)
        done, tried = await self._send(messages)
        fault("delivery.sent")
        await self._note(stretch, messages, done, tried)

    def _is_again(self, change: Change) -> bool:
        return change.position <= self.progress.again_upto and change.item_id not in self._told

    def _is_unsure(self, change: Change) -> bool:
        is_first = change.position <= (self._unsure_upto or 0) and change.item_id not in self._told
        return is_first or change.item_id in self._unsure

    async def _send(self, messages: Sequence[Message]) -> tuple[dict[ItemId, SentColumns | None], list[Tried]]:
        """Send all messages once, but for those that a receiver that is down is spared."""
        waiting = list(reversed(split(self.subscription, messages)))
        done: dict[ItemId, SentColumns | None] = {}
        tried: list[Tried] = []
        failed_in_a_row = 0

        async def work() -> None:
            nonlocal failed_in_a_row
            while waiting and failed_in_a_row < FAILURES_PER_ROUND_MAX:
                part = waiting.pop()
                await self._pace(len(part))
                self._unsure.update(message.item_id for message in part)
                one = await self._tools.sending.send(self.subscription, self.progress, part)
                tried.append(one)
                self._tools.metrics.requests.labels(self.subscription.address, one.verdict).inc()
                if one.verdict == "gone":
                    waiting.clear()
                if one.verdict != "delivered":
                    failed_in_a_row += 1
                    continue
                failed_in_a_row = 0
                for message in part:
                    self._unsure.discard(message.item_id)
                    self._told.add(message.item_id)
                    done[message.item_id] = message.columns

        async with asyncio.TaskGroup() as tasks:
            for _ in range(min(REQUESTS_AT_ONCE, len(waiting))):
                tasks.create_task(work())
        return done, tried

    async def _pace(self, message_count: int) -> None:
        if not self.subscription.max_rate:
            return
        now_ms = self._tools.clock.now_ms()
        begins_ms = max(now_ms, self._free_at_ms)
        self._free_at_ms = begins_ms + round(message_count * 1_000 / self.subscription.max_rate)
        if begins_ms > now_ms:
            await self._tools.clock.sleep_ms(begins_ms - now_ms)

    async def _note(
        self,
        stretch: Stretch,
        messages: Sequence[Message],
        done: dict[ItemId, SentColumns | None],
        tried: Sequence[Tried],
    ) -> None:
        now_ms, address = self._tools.clock.now_ms(), self.subscription.address
        progress = self.progress
        if done:
            count = progress.message_count + len(done)
            progress = msgspec.structs.replace(progress, message_count=count, last_success_at_ms=now_ms)
            self._tools.metrics.messages.labels(address).inc(len(done))
        failed = [one for one in tried if one.verdict != "delivered"]
        if len(done) == len(messages):
            self._told.clear()
            position = stretch.changes[-1].position
            progress = msgspec.structs.replace(
                progress, position=position, failures=0, failing_since_ms=0, next_at_ms=0, last_error=""
            )
        else:
            progress = self._decide_failed(progress, failed, has_progress=bool(done), now_ms=now_ms)
        self._tools.metrics.failures.labels(address).set(progress.failures)
        self._tools.metrics.lag.labels(address).set(_age_s(stretch.changes, now_ms) if failed else 0)
        self.progress = progress
        await self._save(done, [one.attempt for one in tried])

    def _decide_failed(
        self, progress: Progress, failed: Sequence[Tried], *, has_progress: bool, now_ms: int
    ) -> Progress:
        last = failed[-1]
        failures = 1 if has_progress else progress.failures + 1
        since_ms = progress.failing_since_ms or now_ms
        progress = msgspec.structs.replace(
            progress, failures=failures, failing_since_ms=since_ms, last_error=last.attempt.error
        )
        if any(one.verdict == "gone" for one in failed):
            _log.warning("receiver is gone", subscription=self.subscription.address)
            return msgspec.structs.replace(progress, status="disabled", why="the receiver answered 410 Gone")
        pause_ms = decide_pause_ms(
            failures,
            draw=self._tools.random.uniform(),
            retries_s=self._tools.retries_s,
            asked_s=max(one.asked_s for one in failed),
        )
        if pause_ms is None:
            _log.error("delivery is given up", subscription=self.subscription.address, error=last.attempt.error)
            why = f"given up after {failures} rounds of failures: {last.attempt.error}"
            return msgspec.structs.replace(progress, status="paused", why=why)
        return msgspec.structs.replace(progress, next_at_ms=now_ms + pause_ms)

    async def _save_position(self, *, is_due: bool) -> None:
        """Write the position down where it has moved, at once or after a while."""
        if self.progress.position == self._saved_position:
            return
        if is_due or self._tools.clock.now_ms() - self._saved_at_ms >= SAVE_EVERY_MS:
            await self._save({}, [])

    async def _save(self, sent: dict[ItemId, SentColumns | None], attempts: Sequence[Attempt]) -> None:
        self.is_saving = True
        try:
            self.progress = await self._tools.deliveries.save(self.progress, sent=sent, attempts=attempts)
        finally:
            self.is_saving = False
        self._saved_position = self.progress.position
        self._saved_at_ms = self._tools.clock.now_ms()

    def _count_row_errors(self) -> None:
        count, self._selector.error_count = self._selector.error_count, 0
        if count:
            self._tools.metrics.row_errors.labels(self.subscription.address).inc(count)


def _age_s(changes: Sequence[Change], now_ms: int) -> float:
    oldest_ms = min((event.at_ms for change in changes for event in change.events), default=now_ms)
    return max(0, now_ms - oldest_ms) / 1_000
