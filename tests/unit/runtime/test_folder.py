"""A state folder and its lock."""

import errno
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from gristmill.domain.errors import ConfigError, Unavailable, UsageError
from gristmill.runtime.composition.heads import HeadShelf
from gristmill.runtime.folder import GroupLock, StateFolder


def test_a_folder_is_prepared_once_or_refused(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "a" / "state")
    folder.prepare()
    folder.prepare()
    assert folder.run_dir.is_dir()
    assert not folder.exists
    with pytest.raises(UsageError, match="holds nothing"):
        folder.require()
    with pytest.raises(ConfigError, match="not UTF-8"):
        StateFolder(tmp_path / "st\udcff").prepare()
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be written"):
        StateFolder(tmp_path / "file").prepare()


def test_sockets_of_a_deep_folder_move_to_a_short_one(tmp_path: Path) -> None:
    assert StateFolder(Path("/s")).socket("link") == Path("/s/run/link.sock")
    deep = StateFolder(tmp_path / ("d" * 120))
    short = deep.socket("link")
    assert len(str(short)) <= 100
    assert short == deep.socket("link") != deep.socket("control")
    assert short != StateFolder(tmp_path / ("e" * 120)).socket("link")


def test_a_folder_is_locked_by_one_group_at_a_time(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    lock = GroupLock(folder, purpose="this test")
    with pytest.raises(UsageError, match=r"in use by process \d+ \(this test\)"):
        GroupLock(folder, purpose="another")
    lock.close()
    lock.close()
    GroupLock(folder, purpose="another").close()


def test_a_head_is_used_once_it_is_active(tmp_path: Path) -> None:
    shelf = HeadShelf(StateFolder(tmp_path))
    assert shelf.active_path() == ""
    path = shelf.add("head-1", b"bytes")
    assert shelf.active_path() == ""
    shelf.activate("head-1")
    assert shelf.active_path() == str(path)
    assert path.read_bytes() == b"bytes"


def test_a_failure_on_a_full_disk_is_told_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = StateFolder(tmp_path)
    with pytest.raises(Unavailable, match="engine-1 died"), folder.naming_a_full_disk():
        raise Unavailable("engine-1 died 5 times")
    with pytest.raises(Unavailable, match=r"disk of the state folder is full.*free space"), folder.naming_a_full_disk():
        raise OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=0))
    with pytest.raises(Unavailable, match=r"is full.*engine-1 died"), folder.naming_a_full_disk():
        raise Unavailable("engine-1 died 5 times")
    with pytest.raises(BrokenPipeError), folder.naming_a_full_disk():
        raise BrokenPipeError
