"""What a person is told while a run works."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from gristmill.cli.progress import ProgressBar
from gristmill.runtime.batch.feed import Progress
from gristmill.runtime.folder import StateFolder


def test_a_full_disk_is_told_once_and_so_is_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    looks = iter([False, True, True, False, False])
    monkeypatch.setattr(StateFolder, "is_disk_full", property(lambda _: next(looks)))
    with ProgressBar(Console(file=written, width=300), StateFolder(tmp_path)) as bar:
        for _ in range(5):
            bar.on_progress(Progress(appended=3, ended=1, waiting=0), None)
    full, room = written.getvalue().strip().splitlines()
    assert str(tmp_path) in full
    assert "full: free space and it goes on" in full
    assert "room on the disk again" in room
