"""The output appears whole, goes where the path leads, and never takes the place of a device."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gristmill.domain.errors import Unavailable, UsageError
from gristmill.runtime.batch.outcomes import OutcomeLine
from gristmill.runtime.batch.report import Summary, check_output, write_outcomes


async def outcomes(count: int) -> AsyncIterator[OutcomeLine]:
    for number in range(count):
        yield OutcomeLine(str(number), str(number), "done", (), {}, "")


def write(count: int, path: Path) -> Summary:
    check_output(path, input=path.parent / "in.jsonl")
    return asyncio.run(write_outcomes(outcomes(count), path))


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    assert write(3, pipe).item_count == 3
    reader.join(timeout=10)
    assert pipe.is_fifo()
    assert read[0].count(b"\n") == 3


def test_a_link_stays_a_link_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "real.jsonl", tmp_path / "out.jsonl"
    target.write_text("old")
    link.symlink_to(target)
    write(2, link)
    assert link.is_symlink()
    assert target.read_bytes().count(b"\n") == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "there"]


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="this system has no device that is always full")
def test_a_full_disk_is_named_and_nothing_is_left_behind(tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.symlink_to("/dev/full")
    with pytest.raises(Unavailable, match="No space left on device"):
        write(2, full)
    assert Path("/dev/full").is_char_device()
    with pytest.raises(UsageError, match="folder of the output"):
        check_output(tmp_path / "no" / "out", input=tmp_path / "in")
