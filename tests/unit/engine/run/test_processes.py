"""Tasks in child processes: what crosses, what is refused, what a hanging or dying child costs."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from gristmill import Cache, Item, cell, task
from gristmill.domain.errors import ConfigError
from gristmill.domain.item import freeze
from gristmill.engine.driver import Driver
from gristmill.engine.run.calls import Workers
from gristmill.plans.resources import Need, RunScope
from tests.driving import ITEM, JumpingClock, build_driver, drive_with, register


@cell("media")
class Media(msgspec.Struct, frozen=True):
    names: tuple[str, ...]
    pid: int


class Unpicklable(Exception):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(first)


@task(runs="process", timeout_ms=20_000)
def list_media(item: Item, *, limit: int = 9) -> Media:
    return Media(tuple(item.ext["media"][:limit]), os.getpid())


@task(runs="process", attempts=1)
def broken(item: Item) -> None:
    raise ValueError("x")


@task(runs="process", attempts=1)
def raises_unpicklable(item: Item) -> None:
    raise Unpicklable("one", "two")


@task(runs="process", attempts=1, timeout_ms=50)
def hang(item: Item) -> None:
    threading.Event().wait()


@task(runs="process", attempts=1, timeout_ms=20_000)
def tell_and_hang(item: Item) -> None:
    Path(item.text).write_text(str(os.getpid()))
    threading.Event().wait()


@task(runs="process", attempts=1)
def die(item: Item) -> None:
    os._exit(3)


WITH_MEDIA = replace(ITEM, ext=freeze({"media": ["a", "b", "c"]}))


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    """One pool for the module: starting a child costs more than everything else here."""
    workers = Workers()
    yield workers
    workers.close()


def driver_of(operator: object, workers: Workers) -> Driver:
    return Driver(register(operator), resources={}, clock=JumpingClock(), workers=workers)


async def test_items_and_results_cross_into_a_child_and_back(workers: Workers) -> None:
    ended = await drive_with(driver_of(list_media.use(limit=2), workers), WITH_MEDIA)
    assert ended.status == "done", ended.error
    media = ended.cells[0].value
    assert media.names == ("a", "b")
    assert media.pid != os.getpid()


async def test_an_error_in_a_child_keeps_its_text(workers: Workers) -> None:
    assert (await drive_with(driver_of(broken, workers))).error == "ValueError: x"
    ended = await drive_with(driver_of(raises_unpicklable, workers))
    assert ended.error == "RuntimeError: Unpicklable: one"


async def test_a_child_that_hangs_or_dies_is_replaced(workers: Workers) -> None:
    assert (await drive_with(driver_of(hang, workers))).error == "TimeoutError: no answer within 50 ms"
    ended = await drive_with(driver_of(die, workers))
    assert ended.error == "Unavailable: child process died during the call, exit code: 3"
    assert (await drive_with(driver_of(list_media, workers), WITH_MEDIA)).status == "done"


async def test_a_cancelled_call_kills_its_child(workers: Workers, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    driving = asyncio.create_task(drive_with(driver_of(tell_and_hang, workers), replace(ITEM, text=str(pipe))))
    pid = int(await asyncio.to_thread(pipe.read_text))
    driving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await driving
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_task_that_a_child_could_not_import_is_refused() -> None:
    @task
    def inner(item: Item) -> None: ...

    inner.runs = "process"
    with pytest.raises(ConfigError, match="can be imported"):
        build_driver(inner)


@task(runs="process")
def wants_scope(item: Item, scope: RunScope) -> None: ...


def test_a_task_that_asks_for_its_run_cannot_live_in_a_process() -> None:
    with pytest.raises(ConfigError, match="asks for a scope: 'scope'"):
        build_driver(wants_scope, resources={Need(Cache, "x"): None})
