"""Children that decode: what they cost, and what becomes of one that a picture kills."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from PIL import Image
from prometheus_client import CollectorRegistry

from gristmill.adapters.media import ChildImageReader, ReaderLimits, ReaderMetrics, child, reader
from gristmill.domain.errors import Unavailable
from gristmill.ports.media import Missing, Picture
from tests.unit.adapters.media.samples import encode, hostile_bodies, paint

Make = Callable[..., ChildImageReader]
GOOD = encode(paint())
HOSTILE = dict(hostile_bodies())
STILL_PICTURES = ("damaged", "gif of 200,000 frames", "gif frame out", "jpeg of 64 KB", "jpeg segment")
"""Bodies that may hold a picture all the same, which is then read."""

RESIDENT_BYTES_MAX = 300 * 1024 * 1024
"""Of the child at its worst moment; the system would end it at 1 GiB of addresses."""


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    made: list[ChildImageReader] = []

    def make(**limits: float) -> ChildImageReader:
        settings = ReaderLimits(**{"children": 1, **limits})  # type: ignore[arg-type]
        made.append(ChildImageReader(metrics=ReaderMetrics(CollectorRegistry()), limits=settings))
        return made[-1]

    yield make
    for one in made:
        await one.close()


def pid_of(reader: ChildImageReader) -> int:
    return reader._idle[0]._process.pid


async def read(reader: ChildImageReader, body: bytes) -> Picture | Missing:
    return await reader.read(body)


async def test_a_child_serves_many_pictures(make: Make) -> None:
    one = make()
    assert isinstance(await one.read(GOOD), Picture)
    pid = pid_of(one)
    assert isinstance(await one.read(b"nothing"), Missing)
    assert pid_of(one) == pid


async def test_two_hundred_hostile_bodies_cost_a_reason_each_and_nothing_else(make: Make) -> None:
    assert len(HOSTILE) >= 200
    one = make()
    reasons: Counter[str] = Counter()
    pids: set[int] = set()
    for name, body in HOSTILE.items():
        found = await one.read(body)
        reasons[found.reason if isinstance(found, Missing) else "ok"] += 1
        assert isinstance(found, Missing) or any(part in name for part in STILL_PICTURES), name
        pids.update([pid_of(one)] if one._idle else [])
    assert reasons["broken"] > 100
    assert reasons["too_many_pixels"] >= 9
    assert reasons["not_an_image"] >= 13
    assert isinstance(await one.read(GOOD), Picture)
    assert peak_bytes(pid_of(one)) < RESIDENT_BYTES_MAX
    assert len(pids) == 1


async def test_equal_bytes_are_refused_in_equal_words(make: Make) -> None:
    one = make()
    found = [await one.read(b"\xff\xd8\xff\xe0 nothing behind") for _ in range(2)]
    assert found[0] == found[1]
    assert "0x" not in str(found[0])


async def test_a_picture_that_takes_too_long_costs_its_child(make: Make) -> None:
    one = make()
    assert isinstance(await one.read(GOOD), Picture)
    pid, patient = pid_of(one), one._limits
    os.kill(pid, signal.SIGSTOP)
    one._limits = replace(patient, wall_s=0.1)
    assert await one.read(GOOD) == Missing("too_costly", "takes longer than 0.1 s")
    one._limits = patient
    assert isinstance(await one.read(GOOD), Picture)
    assert pid_of(one) != pid


@pytest.mark.parametrize(
    ("number", "reason"),
    [(signal.SIGSEGV, "broken"), (signal.SIGKILL, "too_costly"), (signal.SIGXCPU, "too_costly")],
)
async def test_a_child_that_dies_is_replaced(make: Make, number: signal.Signals, reason: str) -> None:
    one = make()
    await one.read(GOOD)
    os.kill(pid_of(one), number)
    found = await one.read(GOOD)
    assert isinstance(found, Missing)
    assert found.reason == reason
    assert isinstance(await one.read(GOOD), Picture)


async def test_memory_has_an_end(make: Make) -> None:
    one = make(memory_bytes=200 * 1024 * 1024)
    large = encode(Image.new("RGB", (7_000, 7_000)), "PNG", compress_level=1)
    assert await one.read(large) == Missing("too_costly", child.COST_REASON)
    assert isinstance(await one.read(GOOD), Picture)


async def test_a_cancelled_read_leaves_no_answer_for_the_next_one(make: Make) -> None:
    one = make()
    await one.read(GOOD)
    os.kill(pid_of(one), signal.SIGSTOP)
    reading = asyncio.create_task(read(one, b"nothing"))
    for _ in range(5):
        await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert isinstance(await one.read(GOOD), Picture)


async def test_an_old_child_is_replaced(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "READS_PER_CHILD_MAX", 1)
    one = make()
    await one.read(GOOD)
    assert one._idle == []
    assert isinstance(await one.read(GOOD), Picture)


async def test_no_more_children_than_set_work_at_once(make: Make) -> None:
    one = make(children=2)
    found = await asyncio.gather(*(one.read(GOOD) for _ in range(12)))
    assert all(isinstance(each, Picture) for each in found)
    assert len(one._idle) == 2


async def test_a_child_that_cannot_start_is_unavailable(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "CHILD_MODULE", "gristmill.no_such_module")
    with pytest.raises(Unavailable, match="did not start"):
        await make().read(GOOD)


async def test_a_child_ends_with_its_input_and_knows_no_secrets(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "x")
    one = make()
    await one.read(GOOD)
    process = one._idle[0]._process
    assert "A_SECRET" not in told_of(process.pid, "environ")
    await one.close()
    await one.close()
    assert process.returncode == 0


ORPHANING = """
import asyncio, os, sys
from prometheus_client import CollectorRegistry
from gristmill.adapters.media import ChildImageReader, ReaderMetrics

async def main():
    reader = ChildImageReader(metrics=ReaderMetrics(CollectorRegistry()))
    await reader.read(b"nothing")
    print(reader._idle[0]._process.pid, flush=True)
    sys.stdin.read()

asyncio.run(main())
"""


def test_a_child_dies_with_a_parent_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", ORPHANING], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        handle = os.pidfd_open(int(parent.stdout.readline()))
        parent.kill()
        parent.wait()
    try:
        is_over, _, _ = select.select([handle], [], [], 30)
    finally:
        os.close(handle)
    assert is_over


def peak_bytes(pid: int) -> int:
    """Most memory that a process ever held."""
    lines = told_of(pid, "status").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def told_of(pid: int, what: str) -> str:
    """What the system knows of a process."""
    return Path(f"/proc/{pid}/{what}").read_text(encoding="utf-8")
