"""Backups of a group at full speed are whole or not there, and what is restored goes on as if nothing had happened."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tarfile
from functools import partial
from pathlib import Path

import apsw
import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.recording import HistoryRecorder
from gristmill.runtime.backup.backup_file import open_backup
from gristmill.testing.crash.audit import audit
from gristmill.testing.crash.outputs import compute_differences, read_findings
from gristmill.testing.crash.processes import descendants, kill_hard, wait_gone
from gristmill.testing.crash.stream import load_records, write_stream
from tests.commands import COMMAND, FACELESS, read_lines, run, started, wait_until

SAMPLE = Path(__file__).parents[2] / "src/gristmill/cli/data/demo_posts.jsonl"
LINES = 4_000
SEED = 20_261_130

pytestmark = pytest.mark.slow

# Records behind the cursor of their group that nobody holds: each must have its run, a quarantine entry or a letter.
ACCEPTED_WITHOUT_TRACE = """
SELECT count(*) FROM log JOIN grp USING(topic_id) WHERE log.position <= grp.cursor
    AND NOT EXISTS(SELECT 1 FROM lease WHERE lease.grp_id = grp.grp_id AND lease.position = log.position)
    AND NOT EXISTS(SELECT 1 FROM run WHERE run.position = log.position)
    AND NOT EXISTS(SELECT 1 FROM quarantine WHERE quarantine.position = log.position)
    AND NOT EXISTS(SELECT 1 FROM dead WHERE dead.position = log.position)
"""
RUNS_OF_HELD_RECORDS = "SELECT count(*) FROM run JOIN lease USING(position) WHERE NOT is_open"
RUNS_WITHOUT_PARTS = """
SELECT count(*) FROM run WHERE NOT EXISTS(SELECT 1 FROM item WHERE item.item_id = run.item_id)
    OR NOT EXISTS(SELECT 1 FROM id_map WHERE id_map.item_id = run.item_id)
    OR NOT EXISTS(SELECT 1 FROM event WHERE event.item_id = run.item_id)
"""


def _arguments(stream: Path, folder: Path) -> list[object]:
    shown = ["run", "--input", stream, "--plan", "screen", "--engines", 2]
    return [*shown, "--output", folder / "out.jsonl", "--state", folder / "state"]


def _count(store: Path, sql: str) -> int:
    connection = apsw.Connection(str(store), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return int(connection.execute(sql).get)
    except apsw.Error:
        return 0  # Not there yet.
    finally:
        connection.close()


def _runs(folder: Path) -> int:
    store = folder / "state" / "gristmill.sqlite"
    return _count(store, "SELECT count(*) FROM run") if store.is_file() else 0


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stream") / "stream.jsonl"
    write_stream(path, load_records([SAMPLE]), count=LINES, seed=SEED)
    return path


def test_a_backup_of_a_busy_group_goes_on_to_the_output_of_an_undisturbed_run(stream: Path, tmp_path: Path) -> None:
    undisturbed, lost, back = tmp_path / "undisturbed", tmp_path / "lost", tmp_path / "back"
    for folder in (undisturbed, lost, back):
        folder.mkdir()
    assert run(*_arguments(stream, undisturbed)).returncode == 0
    with started(*_arguments(stream, lost)) as process:
        wait_until(lambda: _runs(lost) > LINES // 10, "the group commits")
        taken = run("backup", "--to", tmp_path / "b.tar", "--state", lost / "state")
        assert taken.returncode == 0, taken.stderr
        assert process.poll() is None, "the group was over before its backup was"
        wait_until(lambda: _runs(lost) > LINES // 2, "the group goes on after the backup")
        family = [process.pid, *descendants(process.pid)]
        kill_hard(family)
        assert all(wait_gone(pid, timeout_s=10) for pid in family)
    restored = run("restore", "--from", tmp_path / "b.tar", "--state", back / "state")
    assert restored.returncode == 0, restored.stderr
    store = back / "state" / "gristmill.sqlite"
    with open_backup(tmp_path / "b.tar") as backup:
        runs = backup.manifest.counts["runs"]
    assert 0 < runs < _runs(lost)
    assert _count(store, "SELECT count(*) FROM run") == runs
    for broken in (ACCEPTED_WITHOUT_TRACE, RUNS_OF_HELD_RECORDS, RUNS_WITHOUT_PARTS):
        assert _count(store, broken) == 0, broken
    assert _count(store, "SELECT count(*) FROM lease WHERE owner_id <> 0") == 0

    history = back / "history.jsonl"
    _tell_what_was_done(store, history)
    finished = run(*_arguments(stream, back), env={"GRISTMILL_STORE__HISTORY_FILE": str(history)})
    assert finished.returncode == 0, finished.stderr
    assert compute_differences(read_findings(undisturbed / "out.jsonl"), read_findings(back / "out.jsonl")) == []
    assert audit(history, store) == []
    _no_id_is_issued_twice(lost, back)


def _tell_what_was_done(store: Path, history: Path) -> None:
    """Begin the history of the restored store with what its backup holds, so that doing it again would be found."""
    recorder = HistoryRecorder(history, process="backup", clock=SystemClock())
    connection = apsw.Connection(str(store))
    for topic, offset, run_id in connection.execute(
        "SELECT topic.name, position, lower(hex(run_id)) FROM run JOIN log USING(position) JOIN topic USING(topic_id)"
    ):
        recorder.record("publish", topic=topic, offset=offset)
        recorder.record("effect", topic=topic, group=topic, offset=offset, key=run_id)
        recorder.record("accept", topic=topic, group=topic, offset=offset)
    connection.close()
    recorder.close()


def _no_id_is_issued_twice(lost: Path, back: Path) -> None:
    """What the lost store issued after the backup stands for the same input in the restored one, or for nothing."""
    stores = []
    for folder in (lost, back):
        connection = apsw.Connection(str(folder / "state" / "gristmill.sqlite"))
        stores.append(dict(connection.execute("SELECT item_id, input_id FROM id_map")))
        connection.close()
    shared = stores[0].keys() & stores[1].keys()
    assert shared
    assert all(stores[0][item_id] == stores[1][item_id] for item_id in shared)


def test_a_backup_that_is_killed_leaves_nothing_that_looks_like_one(stream: Path, tmp_path: Path) -> None:
    folder, target = tmp_path / "run", tmp_path / "backups" / "b.tar"
    folder.mkdir()
    target.parent.mkdir()
    with started(*_arguments(stream, folder)):
        wait_until(lambda: _runs(folder) > LINES // 10, "the group commits")
        command = [*COMMAND, "backup", "--to", str(target), "--state", str(folder / "state")]
        part = target.parent / ".b.tar.part"
        for name in ("gristmill.sqlite", "packed"):
            process = subprocess.Popen(command, env={**os.environ, **FACELESS}, stdout=subprocess.DEVNULL)
            wait_until(partial(_has_begun, part / name, process), "it writes")
            process.send_signal(signal.SIGKILL)
            if process.wait() == 0:
                # It was quicker than this test. What it wrote is whole, then.
                assert tarfile.is_tarfile(target)
                target.unlink()
            assert list(target.parent.iterdir()) in ([part], [])
        taken = run("backup", "--to", target, "--state", folder / "state")
        assert taken.returncode == 0, taken.stderr
    assert list(target.parent.iterdir()) == [target]


def _has_begun(file: Path, process: subprocess.Popen[bytes]) -> bool:
    return file.exists() or process.poll() is not None


def test_sources_tokens_and_standard_input_come_back(tmp_path: Path) -> None:
    state, back = tmp_path / "state", tmp_path / "back"
    lines = b"".join(json.dumps({"id": f"s{n}", "text": f"text {n}"}).encode() + b"\n" for n in range(3))
    first = run("run", "--input", "-", "--output", tmp_path / "a.jsonl", "--state", state, stdin=lines)
    assert first.returncode == 0, first.stderr
    token = run("token", "create", "desk", "--role", "viewer", "--state", state)
    assert token.returncode == 0
    assert run("backup", "--to", tmp_path / "b.tar", "--state", state).returncode == 0
    assert run("restore", "--from", tmp_path / "b.tar", "--state", back).returncode == 0
    assert "desk" in run("token", "ls", "--state", back).stdout
    assert [path.name for path in (back / "inputs").glob("stdin-*")] == [
        path.name for path in (state / "inputs").glob("stdin-*") if path.suffix != ".json"
    ]
    assert run("explain", "s1", "--state", back).returncode == 0
    more = run(
        "run", "--input", "-", "--output", tmp_path / "b.jsonl", "--state", back, stdin=lines.replace(b'"s', b'"t')
    )
    assert more.returncode == 0, more.stderr
    ids = {line["item_id"] for name in ("a.jsonl", "b.jsonl") for line in read_lines(tmp_path / name)}
    assert len(ids) == 6
