"""Turns, life locks, marks, doorbells and the refusal of network file systems; real processes where it counts."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gristmill.adapters.local_host import Doorbell, FairTurn, OwnerLock, RunningMarks, new_owner, read_marks
from gristmill.adapters.local_host import filesystem as filesystem_module
from gristmill.adapters.local_host.filesystem import filesystem_of, refuse_network_filesystem
from gristmill.adapters.local_host.marks import FILES_KEPT, sweep_marks
from gristmill.adapters.local_host.owners import registered_owners
from gristmill.domain.errors import ConfigError, InvariantBroken

PATIENCE_S = 10
TURNS = 50
"""Of each of two writers."""


def test_two_writers_take_turns(tmp_path: Path) -> None:
    order: list[str] = []
    ready = threading.Barrier(2)

    def write(name: str) -> None:
        turn = FairTurn(tmp_path / "db")
        ready.wait(PATIENCE_S)
        while min(order.count("a"), order.count("b")) < TURNS:
            with turn:
                order.append(name)
                # Long enough that the other writer is waiting when this one comes back.
                threading.Event().wait(0.001)
        turn.close()
        turn.close()

    threads = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    # On a busy machine one begins long before the other.
    both = "".join(order)[max(order.index("a"), order.index("b")) :]
    # One that was not given the processor cannot stand in line. With the turn alone, every second one is stolen.
    changes = sum(one != next_one for one, next_one in itertools.pairwise(both))
    assert changes > len(both) * 3 / 4, "".join(order)


def test_a_short_turn_waits_for_one_long_turn_at_most(tmp_path: Path) -> None:
    order: list[str] = []
    first, second, short = (FairTurn(tmp_path / "db") for _ in range(3))
    has_queued = threading.Event()

    def write(name: str, turn: FairTurn) -> None:
        has_queued.set()
        with turn.long() if name == "long" else turn:
            order.append(name)

    with first.long():
        waiting = threading.Thread(target=write, args=("long", second))
        waiting.start()
        assert has_queued.wait(PATIENCE_S)
        has_queued.clear()
        # However long the other one has stood in line: it stands in the line for long turns.
        threading.Event().wait(0.05)
        quick = threading.Thread(target=write, args=("short", short))
        quick.start()
        assert has_queued.wait(PATIENCE_S)
        threading.Event().wait(0.05)
    for thread in (waiting, quick):
        thread.join(PATIENCE_S)
    assert order == ["short", "long"]
    for turn in (first, second, short):
        turn.close()


def test_whoever_is_awaited_goes_before_all_that_wait_but_for_the_one_that_gave_way(tmp_path: Path) -> None:
    order: list[str] = []
    turns = {name: FairTurn(tmp_path / "db") for name in ("holder", "short", "long", "first", "second")}
    threads: list[threading.Thread] = []
    has_begun, may_end = threading.Event(), threading.Event()

    def write(name: str) -> None:
        turn = turns[name]
        taken = {"long": turn.long, "first": turn.first, "second": turn.first}
        with taken[name]() if name in taken else turn:
            order.append(name)
            if name == "first":
                has_begun.set()
                assert may_end.wait(PATIENCE_S)

    def queue_up(name: str) -> None:
        threads.append(threading.Thread(target=write, args=(name,)))
        threads[-1].start()
        threading.Event().wait(0.05)

    with turns["holder"]:
        for name in ("short", "long", "first"):
            queue_up(name)
    assert has_begun.wait(PATIENCE_S)
    # By now the short one has either given way to the first or has had its turn before it: who wakes first decides.
    queue_up("second")
    may_end.set()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert order.index("first") < order.index("long")
    assert order.index("short") < order.index("second")
    assert order.index("short") <= 1
    for turn in turns.values():
        turn.close()


def test_an_owner_lives_until_it_lets_go(tmp_path: Path) -> None:
    owner = new_owner()
    lock = OwnerLock.take(tmp_path, owner)
    assert registered_owners(tmp_path) == [owner]
    assert OwnerLock.try_take_dead(tmp_path, owner) is None
    lock.release()
    found = OwnerLock.try_take_dead(tmp_path, owner)
    assert found is not None
    found.discard()
    assert registered_owners(tmp_path) == []


def test_an_owner_that_never_registered_is_not_known_to_be_dead(tmp_path: Path) -> None:
    assert OwnerLock.try_take_dead(tmp_path, "stranger") is None


def test_an_owner_name_may_hold_any_character(tmp_path: Path) -> None:
    OwnerLock.take(tmp_path, "a/b:ü %").release()
    assert registered_owners(tmp_path) == ["a/b:ü %"]


def test_a_killed_process_is_found_dead_with_its_marks(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from gristmill.adapters.local_host import OwnerLock, RunningMarks\n"
        "folder = Path(sys.argv[1]); lock = OwnerLock.take(folder, 'child'); marks = RunningMarks(folder, 'child')\n"
        "marks.clear(marks.set(7)); marks.set(8); marks.set(9)\n"
        "print('ready', flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    with child:
        assert child.stdout is not None
        child.stdout.readline()
        assert OwnerLock.try_take_dead(tmp_path, "child") is None
        child.kill()
    assert OwnerLock.try_take_dead(tmp_path, "child") is not None
    assert read_marks(tmp_path, "child") == frozenset({8, 9})


def test_new_owners_are_never_equal() -> None:
    assert len({new_owner() for _ in range(100)}) == 100


def test_marks_are_bounded(tmp_path: Path) -> None:
    marks = RunningMarks(tmp_path, "me", slots=1)
    slot = marks.set(1)
    with pytest.raises(InvariantBroken):
        marks.set(2)
    marks.clear(slot)
    marks.set(3)
    assert read_marks(tmp_path, "me") == frozenset({3})
    marks.close()


def test_each_owner_has_marks_of_its_own(tmp_path: Path) -> None:
    for number, owner in enumerate(("dead", "alive"), start=1):
        RunningMarks(tmp_path, owner).set(number)
    assert read_marks(tmp_path, "dead") == frozenset({1})
    assert read_marks(tmp_path, "nobody") is None


def test_old_marks_of_the_dead_are_swept(tmp_path: Path) -> None:
    for number in range(FILES_KEPT + 3):
        RunningMarks(tmp_path, f"o{number:02}", slots=1).close()
        os.utime(tmp_path / f"o{number:02}.marks", ns=(number, number))
    sweep_marks(tmp_path, {"o00"})
    left = sorted(path.stem for path in tmp_path.glob("*.marks"))
    assert left == ["o00", *(f"o{number:02}" for number in range(3, FILES_KEPT + 3))]


async def _next_ring(bell: Doorbell) -> asyncio.Future[list[str]]:
    rung: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
    bell.listen(rung.set_result)
    return rung


async def test_a_ring_reaches_every_other_bell(tmp_path: Path) -> None:
    one, two, three = (Doorbell(tmp_path) for _ in range(3))
    rings = [await _next_ring(bell) for bell in (two, three)]
    one.ring({"t"})
    async with asyncio.timeout(PATIENCE_S):
        assert [await ring for ring in rings] == [["t"], ["t"]]
    for bell in (one, two, three):
        bell.close()
        bell.close()
    assert os.listdir(tmp_path) == []


async def test_a_ring_with_too_many_topics_means_any(tmp_path: Path) -> None:
    one, two = Doorbell(tmp_path), Doorbell(tmp_path)
    ring = await _next_ring(two)
    one.ring(f"topic {number} {'x' * 100}" for number in range(200))
    async with asyncio.timeout(PATIENCE_S):
        assert await ring == []
    one.close()
    two.close()


async def test_a_deep_folder_has_bells_too(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    one, two = Doorbell(deep), Doorbell(deep)
    ring = await _next_ring(two)
    one.ring(["t"])
    async with asyncio.timeout(PATIENCE_S):
        assert await ring == ["t"]
    one.close()
    two.close()


def test_a_bell_of_a_dead_process_is_removed_by_the_next_ring(tmp_path: Path) -> None:
    code = "import sys, os; from pathlib import Path; from gristmill.adapters.local_host import Doorbell\n"
    code += "Doorbell(Path(sys.argv[1])); os._exit(0)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    assert len(list(tmp_path.iterdir())) == 1
    bell = Doorbell(tmp_path)
    bell.ring(["t"])
    assert len(list(tmp_path.iterdir())) == 1
    bell.close()


def test_a_full_bell_does_not_stop_the_ringer(tmp_path: Path) -> None:
    deaf, bell = Doorbell(tmp_path), Doorbell(tmp_path)
    for _ in range(2_000):
        bell.ring(["t"])
    bell.close()
    deaf.close()


MOUNTS = """\
22 1 0:20 / / rw - ext4 /dev/sda1 rw
30 22 0:30 / /mnt/share rw - nfs4 server:/export rw
31 30 0:31 / /mnt/share/local rw - xfs /dev/sdb rw
32 22 0:32 / /mnt/with\\040space rw shared:1 - fuse.sshfs host: rw
broken line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/data/a.db", "ext4"),
        ("/mnt/share/a.db", "nfs4"),
        ("/mnt/share/local/a.db", "xfs"),
        ("/mnt/shared/a.db", "ext4"),
        ("/mnt/with space/a.db", "fuse.sshfs"),
    ],
)
def test_the_file_system_of_a_path_is_that_of_its_deepest_mount(path: str, kind: str) -> None:
    assert filesystem_of(Path(path), MOUNTS) == kind


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mountinfo"
    monkeypatch.setattr(filesystem_module, "MOUNTS", mounts)
    refuse_network_filesystem(tmp_path / "a.db")
    mounts.write_text("22 1 0:20 / / rw - nfs4 server:/ rw\n")
    with pytest.raises(ConfigError, match="nfs4"):
        refuse_network_filesystem(tmp_path / "a.db")
