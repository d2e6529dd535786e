"""A state folder becomes a file and the file a state folder; what is wrong is refused before anything is touched."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.errors import ConfigError, DataError, Unavailable, UsageError
from gristmill.runtime.backup import restore_backup, take_backup
from gristmill.runtime.backup import taking as taking_module
from gristmill.runtime.folder import GroupLock, StateFolder
from tests.backups import NOW_MS, count_items, empty, flip_store, rewrite


def test_everything_that_a_user_would_miss_comes_back(folder: StateFolder, tmp_path: Path) -> None:
    seen: list[str] = []
    taken = take_backup(
        folder, tmp_path / "b.tar", now_ms=NOW_MS, on_progress=lambda what, done, total: seen.append(what)
    )
    assert {"copying the store", "packing"} <= set(seen)
    assert taken.manifest.counts["items"] == 2
    assert sorted(taken.manifest.files) == [
        "blobs/abc",
        "gristmill.sqlite",
        "inputs/run.a.1.json",
        "models/spam/active",
    ]
    assert taken.path.stat().st_mode & 0o777 == 0o600
    restored = restore_backup(taken.path, empty(tmp_path), now_ms=NOW_MS + 1)
    assert (restored.freed, restored.aside) == (0, None)
    there = empty(tmp_path)
    assert asyncio.run(count_items(there)) == 2
    assert (there.models_dir / "spam/active").read_text(encoding="utf-8") == "models/spam/active"
    assert not (there.path / "run/x.sock").exists()
    assert not there.restore_part_dir.exists()
    there.prepare()


def test_an_archive_is_copied_as_it_was_at_one_moment(folder: StateFolder, tmp_path: Path) -> None:
    folder.archive_dir.mkdir()
    archive = apsw.Connection(str(folder.archive_dir / "events-2026-09.sqlite"))
    archive.execute("CREATE TABLE event(a); INSERT INTO event VALUES(1)")
    # Somebody is adding to it, and has not committed.
    archive.execute("BEGIN IMMEDIATE; INSERT INTO event VALUES(2)")
    taken = take_backup(folder, tmp_path / "b.tar", now_ms=NOW_MS)
    archive.close()
    assert "archive/events-2026-09.sqlite" in taken.manifest.files
    assert not any(name.endswith("-journal") for name in taken.manifest.files)
    there = empty(tmp_path)
    restore_backup(taken.path, there, now_ms=NOW_MS)
    copied = apsw.Connection(str(there.archive_dir / "events-2026-09.sqlite"))
    assert list(copied.execute("SELECT a FROM event")) == [(1,)]
    copied.close()


def test_an_existing_file_is_replaced_only_where_that_is_asked_for(folder: StateFolder, backup: Path) -> None:
    before = backup.read_bytes()
    with pytest.raises(UsageError, match=r"exists already.*--force"):
        take_backup(folder, backup, now_ms=NOW_MS + 5_000)
    assert backup.read_bytes() == before
    take_backup(folder, backup, now_ms=NOW_MS + 5_000, is_forced=True)
    assert backup.read_bytes() != before


def test_a_file_that_appears_meanwhile_is_not_replaced(folder: StateFolder, tmp_path: Path) -> None:
    target = tmp_path / "b.tar"

    def appear(what: str, done: int, total: int) -> None:
        target.write_text("somebody else's", encoding="utf-8")

    with pytest.raises(UsageError, match="exists already"):
        take_backup(folder, target, now_ms=NOW_MS, on_progress=appear)
    assert target.read_text(encoding="utf-8") == "somebody else's"
    assert not list(tmp_path.glob(".*"))


def test_what_a_killed_backup_has_left_is_cleared_away_by_the_next(folder: StateFolder, tmp_path: Path) -> None:
    left = tmp_path / ".b.tar.part"
    left.mkdir()
    (left / "gristmill.sqlite").write_text("half", encoding="utf-8")
    take_backup(folder, tmp_path / "b.tar", now_ms=NOW_MS)
    assert not left.exists()


def test_two_backups_do_not_write_one_file(folder: StateFolder, tmp_path: Path) -> None:
    def again(what: str, done: int, total: int) -> None:
        with pytest.raises(UsageError, match="another backup writes"):
            take_backup(folder, tmp_path / "b.tar", now_ms=NOW_MS)

    take_backup(folder, tmp_path / "b.tar", now_ms=NOW_MS, on_progress=again)


def test_what_somebody_else_has_laid_there_is_not_followed_and_not_cleared_away(
    folder: StateFolder, tmp_path: Path
) -> None:
    """Anybody may put a link into `/tmp`, and what it leads to is not ours to empty or to fill."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "letter").write_text("dear", encoding="utf-8")
    (tmp_path / ".link.tar.part").symlink_to(tmp_path / "theirs")
    (tmp_path / ".file.tar.part").write_text("mine", encoding="utf-8")
    (tmp_path / "theirs").rename(tmp_path / ".full.tar.part")
    (tmp_path / "theirs").symlink_to(tmp_path / ".full.tar.part")
    for name in ("link.tar", "file.tar", "full.tar"):
        with pytest.raises(UsageError, match="something else lies"):
            take_backup(folder, tmp_path / name, now_ms=NOW_MS)
    assert (tmp_path / ".full.tar.part" / "letter").read_text(encoding="utf-8") == "dear"
    assert (tmp_path / ".file.tar.part").read_text(encoding="utf-8") == "mine"


def test_a_folder_of_somebody_else_is_refused(
    folder: StateFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".b.tar.part").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(tmp_path).st_uid + 1)
    with pytest.raises(UsageError, match="something else lies"):
        take_backup(folder, tmp_path / "b.tar", now_ms=NOW_MS)


def test_nobody_looks_into_a_backup_that_is_not_whole_yet(folder: StateFolder, tmp_path: Path) -> None:
    part, modes = tmp_path / ".b.tar.part", set()
    part.mkdir(mode=0o755)
    take_backup(
        folder,
        tmp_path / "b.tar",
        now_ms=NOW_MS,
        on_progress=lambda what, done, total: modes.add(part.stat().st_mode & 0o777),
    )
    assert modes == {0o700}


def test_a_folder_that_was_removed_by_the_one_before_holds_nobody(folder: StateFolder, tmp_path: Path) -> None:
    """The one before ends between our opening of its folder and our lock on it."""
    opened = os.open

    def remove(path: object, flags: int, *arguments: int, **further: int) -> int:
        held = opened(path, flags, *arguments, **further)  # type: ignore[arg-type]
        if str(path).endswith(".b.tar.part") and not gone:
            gone.append(path)
            os.rmdir(str(path))
        return held

    gone: list[object] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", remove)
        assert take_backup(folder, tmp_path / "b.tar", now_ms=NOW_MS).path.is_file()
    assert gone


@pytest.mark.parametrize("name", [".", "nowhere/b.tar"])
def test_a_place_that_can_hold_no_file_is_refused(folder: StateFolder, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="no place for a file"):
        take_backup(folder, tmp_path / name, now_ms=NOW_MS)


def test_nothing_is_backed_up_where_nothing_is_stored(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds nothing"):
        take_backup(empty(tmp_path), tmp_path / "b.tar", now_ms=NOW_MS)


def test_a_disk_that_is_too_small_is_found_out_first(
    folder: StateFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking_module, "COPIES", 1 << 40)
    with pytest.raises(Unavailable, match="too little space"):
        take_backup(folder, tmp_path / "b.tar", now_ms=NOW_MS)
    assert not (tmp_path / "b.tar").exists()


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _flip_manifest(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"items": 2', b'"items": 9'))


def _write_garbage(path: Path) -> None:
    path.write_bytes(b"no archive at all" * 100)


def _empty_out(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("hurt", "message"),
    [
        (_cut, "damaged"),
        (flip_store, "not what was backed up"),
        (_flip_manifest, "manifest was changed"),
        (_write_garbage, "no backup of Gristmill"),
        (_empty_out, "no backup of Gristmill"),
    ],
)
def test_a_damaged_or_foreign_file_is_refused(
    backup: Path, tmp_path: Path, hurt: Callable[[Path], object], message: str
) -> None:
    hurt(backup)
    there = empty(tmp_path)
    with pytest.raises(DataError, match=message):
        restore_backup(backup, there, now_ms=NOW_MS)
    assert not there.exists
    assert not there.restore_part_dir.exists()


def test_a_backup_of_a_newer_schema_or_format_is_refused(backup: Path, tmp_path: Path) -> None:
    rewrite(backup, lambda manifest: manifest.update(schema_version=999, gristmill="9.0"))
    with pytest.raises(DataError, match=r"newer schema: 999 .*version 9\.0 or newer"):
        restore_backup(backup, empty(tmp_path), now_ms=NOW_MS)
    rewrite(backup, lambda manifest: manifest.update(format=2))
    with pytest.raises(DataError, match="another format than 1: 2"):
        restore_backup(backup, empty(tmp_path), now_ms=NOW_MS)


def test_a_file_that_the_manifest_names_must_be_there(backup: Path, tmp_path: Path) -> None:
    def add(manifest: dict[str, object]) -> None:
        files = manifest["files"]
        assert isinstance(files, dict)
        files["models/spam/b"] = files["models/spam/active"]

    rewrite(backup, add)
    with pytest.raises(DataError, match="models/spam/b is missing"):
        restore_backup(backup, empty(tmp_path), now_ms=NOW_MS)


def test_a_folder_with_state_is_left_alone_unless_told_otherwise(folder: StateFolder, backup: Path) -> None:
    (folder.path / "note").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match=r"not empty.*--force"):
        restore_backup(backup, folder, now_ms=NOW_MS)
    restored = restore_backup(backup, folder, now_ms=NOW_MS, is_forced=True)
    assert restored.aside is not None
    assert (restored.aside / "note").read_text(encoding="utf-8") == "mine"
    assert (restored.aside / "gristmill.sqlite").is_file()
    assert asyncio.run(count_items(folder)) == 2
    again = restore_backup(backup, folder, now_ms=NOW_MS, is_forced=True)
    assert again.aside is not None
    assert again.aside != restored.aside
    assert restored.aside.is_dir()


def test_a_folder_in_use_is_left_alone_even_when_forced(folder: StateFolder, backup: Path) -> None:
    lock = GroupLock(folder, purpose="gristmill up")
    with pytest.raises(UsageError, match="in use by process"):
        restore_backup(backup, folder, now_ms=NOW_MS, is_forced=True)
    lock.close()
    store = SqliteStore.open(folder.store_file, clock=SystemClock(), owner="host:1:reader")
    with pytest.raises(UsageError, match="in use by host:1:reader"):
        restore_backup(backup, folder, now_ms=NOW_MS, is_forced=True)
    asyncio.run(store.close())
    restore_backup(backup, folder, now_ms=NOW_MS, is_forced=True)


def test_a_folder_that_was_never_state_is_not_moved_aside(backup: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter").write_text("dear", encoding="utf-8")
    with pytest.raises(UsageError, match="other things than state"):
        restore_backup(backup, StateFolder(tmp_path / "home"), now_ms=NOW_MS, is_forced=True)
    with pytest.raises(UsageError, match="no folder"):
        restore_backup(backup, StateFolder(tmp_path / "home" / "letter"), now_ms=NOW_MS)
    assert os.listdir(tmp_path / "home") == ["letter"]


def test_a_restore_that_was_killed_does_not_become_an_empty_installation(folder: StateFolder, backup: Path) -> None:
    class Killed(BaseException):
        pass

    def kill(self: Path, target: Path) -> Path:
        if self.parent == folder.restore_part_dir and self.name == "gristmill.sqlite":
            raise Killed
        return rename(self, target)

    rename = Path.rename
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "rename", kill)
        with pytest.raises(Killed):
            restore_backup(backup, folder, now_ms=NOW_MS, is_forced=True)
    with pytest.raises(ConfigError, match="has not ended"):
        folder.prepare()
    restore_backup(backup, folder, now_ms=NOW_MS, is_forced=True)
    folder.prepare()
    assert asyncio.run(count_items(folder)) == 2
