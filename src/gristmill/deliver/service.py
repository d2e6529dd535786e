"""Keeps a courier for every subscription that is active, and wakes them when something has changed."""

from __future__ import annotations

import asyncio

import structlog

from gristmill.deliver.core.selecting import BadRows, Selector, compile_selector
from gristmill.deliver.courier import Courier, CourierTools
from gristmill.deliver.definitions import KIND, read_subscription
from gristmill.domain.delivery import Progress, Subscription
from gristmill.domain.errors import GristmillError, Unavailable
from gristmill.ports.definitions import Definition, Definitions
from gristmill.ports.delivery import Changes

__all__ = ["DeliveryService"]

WAKE_MS = 200
"""Between two looks for changes; a healthy receiver hears of one within this and a moment."""

WAKES_PER_LOOK = 5
"""Looks for changes between two looks for what was published or steered: a second."""

Key = tuple[str, str]
_log = structlog.get_logger()


class DeliveryService:
    """One for each store: two would tell everything twice."""

    def __init__(self, definitions: Definitions, changes: Changes, tools: CourierTools) -> None:
        self._definitions = definitions
        self._changes = changes
        self._tools = tools
        self._version = -1
        self._known: dict[Key, tuple[int, Subscription]] = {}
        self._couriers: dict[Key, tuple[Courier, asyncio.Task[None]]] = {}
        self._end = -1

    async def run(self) -> None:
        """Deliver for ever."""
        try:
            async with asyncio.TaskGroup() as tasks:
                while True:
                    try:
                        await self._look(tasks)
                        for _ in range(WAKES_PER_LOOK):
                            await self._wake()
                            await self._tools.clock.sleep_ms(WAKE_MS)
                    except Unavailable as error:
                        _log.warning("subscriptions cannot be looked up", error=str(error))
                        await self._tools.clock.sleep_ms(WAKE_MS)
        finally:
            self._couriers.clear()

    async def _look(self, tasks: asyncio.TaskGroup) -> None:
        await self._read_definitions()
        active: dict[Key, Progress] = {
            (one.tenant, one.name): one for one in await self._tools.deliveries.all() if one.status == "active"
        }
        for key, (courier, task) in list(self._couriers.items()):
            if task.done() or self._is_outdated(courier, active.get(key), self._known[key][1]):
                await _end(task)
                del self._couriers[key]
        for key, progress in active.items():
            if key in self._known and key not in self._couriers:
                self._start(tasks, key, progress)

    def _is_outdated(self, courier: Courier, progress: Progress | None, subscription: Subscription) -> bool:
        if courier.is_saving:
            return False  # What was read may be older than what it is writing; the next look tells.
        if courier.subscription.hash != subscription.hash:
            return True
        return progress is None or progress.version > courier.progress.version

    def _start(self, tasks: asyncio.TaskGroup, key: Key, progress: Progress) -> None:
        subscription = self._known[key][1]
        courier = Courier(subscription, _compile(subscription), progress, self._tools)
        name = f"delivery.{subscription.address}"
        self._couriers[key] = (courier, tasks.create_task(_guard(courier), name=name))

    async def _wake(self) -> None:
        if not self._couriers:
            return
        end = await self._changes.end()
        if end != self._end:
            self._end = end
            for courier, _ in self._couriers.values():
                courier.wake.set()

    async def _read_definitions(self) -> None:
        version = await self._definitions.version()
        if version == self._version:
            return
        for stored in await self._definitions.latest(KIND):
            key = (stored.tenant, stored.name)
            if key in self._known and self._known[key][0] == stored.revision:
                continue
            subscription = _try_read(stored)
            if subscription is not None:
                self._known[key] = (stored.revision, subscription)
        self._version = version


async def _guard(courier: Courier) -> None:
    """Keep the failure of one subscription from the others; it is started anew with the next look."""
    try:
        await courier.run()
    except Exception as error:
        _log.exception("delivery broke", subscription=courier.subscription.address, error=str(error))


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


def _try_read(stored: Definition) -> Subscription | None:
    """Read a published revision; one that this program cannot read leaves the earlier one at work."""
    try:
        return read_subscription(stored.body, file=stored.name)
    except GristmillError as error:
        _log.error(
            "published subscription cannot be used", name=stored.name, revision=stored.revision, error=str(error)
        )
        return None


def _compile(subscription: Subscription) -> Selector:
    try:
        return compile_selector(subscription)
    except BadRows as error:  # It was read a moment ago, and reading compiles.
        raise AssertionError(error.problem) from error
