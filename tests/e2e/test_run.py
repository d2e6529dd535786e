"""`gristmill run` from outside: files in, files out, whatever happens in between."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import LOUD_FLOW, SLOW_FLOW, read_lines, run, started, wait_until, write

QUICK_RECOVERY = {"GRISTMILL_DISPATCHER__RECOVERY_DELAY_S": "0.01"}


@pytest.fixture
def loud(tmp_path: Path) -> list[object]:
    """Options of a run with a plan of one task."""
    return ["--flow", write(tmp_path / "loud_flow.py", LOUD_FLOW), "--state", tmp_path / "state"]


def posts(path: Path, count: int) -> Path:
    lines = [json.dumps({"id": f"p{number}", "text": f"text {number}"}) for number in range(count)]
    return write(path, "\n".join(lines) + "\n")


def test_a_finished_run_says_so_and_writes_the_same_output_again(tmp_path: Path, loud: list[object]) -> None:
    path = posts(tmp_path / "in.jsonl", 300)
    first = run("run", "--input", path, "--output", tmp_path / "1.jsonl", *loud)
    assert first.returncode == 0, first.stderr
    again = run("run", "--input", path, "--output", tmp_path / "2.jsonl", *loud)
    assert again.returncode == 0
    assert "this input is finished: 300 records" in again.stderr
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()
    lines = read_lines(tmp_path / "1.jsonl")
    assert [line["id"] for line in lines] == [f"p{number}" for number in range(300)]
    assert set(lines[0]) == {"id", "item_id", "status", "labels", "fields", "error"}
    assert set(lines[0]["labels"][0]) == {"val", "score", "reason", "evidence", "operator", "revision"}

    fresh = run("run", "--input", path, "--output", tmp_path / "3.jsonl", "--fresh", *loud)
    assert "finished" not in fresh.stderr
    assert (tmp_path / "3.jsonl").read_bytes() == (tmp_path / "1.jsonl").read_bytes()


def test_a_changed_file_or_plan_is_worked_off_anew(tmp_path: Path, loud: list[object]) -> None:
    path, output = posts(tmp_path / "in.jsonl", 3), tmp_path / "out.jsonl"
    run("run", "--input", path, *loud)
    write(tmp_path / "loud_flow.py", LOUD_FLOW.replace("it shouts", "it screams"))
    run("run", "--input", path, "--output", output, *loud)
    assert {label["reason"] for line in read_lines(output) for label in line["labels"]} == {"it screams"}
    posts(path, 4)
    run("run", "--input", path, "--output", output, *loud)
    assert len(read_lines(output)) == 4


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_an_interrupted_run_goes_on(tmp_path: Path, how: signal.Signals) -> None:
    flow = write(tmp_path / "slow_flow.py", SLOW_FLOW)
    lines = [json.dumps({"id": f"p{number}", "text": "0.05"}) for number in range(200)]
    path, output = write(tmp_path / "in.jsonl", "\n".join(lines)), tmp_path / "out.jsonl"
    command = ["run", "--input", path, "--output", output, "--flow", flow, "--state", tmp_path / "state"]
    command += ["--plan", "slow", "--engines", 1]
    starts = tmp_path / "starts"
    env = {"GRISTMILL_ENGINE__MAX_CONCURRENCY": "4", "GRISTMILL_DISPATCHER__MAX_IN_FLIGHT": "8"}
    with started(*command, env=env) as process:
        wait_until(lambda: starts.exists() and len(starts.read_text().splitlines()) > 20, "twenty records begun")
        process.send_signal(how)
        code = process.wait(30)
    assert code == (130 if how is signal.SIGTERM else -signal.SIGKILL)
    assert not output.exists()
    resumed = run(*command)
    assert resumed.returncode == 0, resumed.stderr
    assert "going on" in resumed.stderr
    assert [line["id"] for line in read_lines(output)] == [f"p{number}" for number in range(200)]
    begun = starts.read_text().splitlines()
    assert len(set(begun)) == 200
    assert len(begun) <= 208


def test_failures_and_quarantine_come_out_in_place_and_in_the_exit_code(tmp_path: Path, loud: list[object]) -> None:
    path = write(
        tmp_path / "in.jsonl", '{"id":"a","text":"x"}\n{"id":"b","text":"break"}\n{"id":"c"}\n[\n{"text":"y"}\n'
    )
    ended = run("run", "--input", path, "--output", tmp_path / "out.jsonl", *loud, env=QUICK_RECOVERY)
    assert ended.returncode == 3, ended.stderr
    found = [(line["id"], line["status"]) for line in read_lines(tmp_path / "out.jsonl")]
    expected = ["done", "failed", "quarantined", "quarantined", "done"]
    assert found == list(zip(["a", "b", "c", "line-4", "line-5"], expected, strict=True))
    assert "broken on purpose" in ended.stdout
    listed = run("dlq", "ls", "--state", tmp_path / "state")
    assert "broken on purpose" in listed.stdout
    assert "text: is missing" in run("dlq", "quarantine", "--state", tmp_path / "state").stdout
    explained = run("explain", "b", "--state", tmp_path / "state")
    assert "ValueError: broken on purpose" in explained.stdout

    number = listed.stdout.splitlines()[1].split()[0]
    assert run("dlq", "requeue", number, "--state", tmp_path / "state").returncode == 0
    again = run("run", "--input", path, "--output", tmp_path / "again.jsonl", *loud, env=QUICK_RECOVERY)
    assert "going on" in again.stderr
    assert [line["status"] for line in read_lines(tmp_path / "again.jsonl")] == expected


def test_two_runs_cannot_share_a_state_folder(tmp_path: Path) -> None:
    flow = write(tmp_path / "slow_flow.py", SLOW_FLOW)
    path = write(tmp_path / "in.jsonl", '{"id":"a","text":"60"}\n')
    options = ["--input", path, "--flow", flow, "--state", tmp_path / "state"]
    with started("run", *options):
        wait_until((tmp_path / "starts").exists, "first run at work")
        second = run("run", *options)
        assert second.returncode == 2
        assert "state folder is in use by process" in second.stderr
        assert "Traceback" not in second.stderr


def test_a_table_and_standard_input_are_read(tmp_path: Path, loud: list[object]) -> None:
    path = write(tmp_path / "in.csv", 'ID,Comment\n1,"a, b"\n2,c\n')
    mapped = run("run", "--input", path, "--output", "-", "--map", "text=Comment", "id=ID", *loud)
    assert [json.loads(line)["id"] for line in mapped.stdout.splitlines()] == ["1", "2"]
    piped = run("run", "--input", "-", "--output", "-", *loud, stdin=b'{"id":"z","text":"q"}\n')
    assert [json.loads(line)["id"] for line in piped.stdout.splitlines()] == ["z"]


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (None, [], "input file does not exist"),
        (b"", [], "input file is empty"),
        (b"\x89PNG\x00\x00", [], "input file is binary"),
        (b'{"text":"a"}', ["--plan", "lout"], "did you mean 'loud'"),
        (b'{"text":"a"}', ["--flow", "missing.py"], "flow file does not exist"),
        (b'{"text":"a"}', ["--output", "no/such/folder"], "folder of the output does not exist"),
        (b'{"text":"a"}', ["--map", "text"], "write TARGET=FIELD"),
        (b'{"text":"a"}', ["--engines", "0"], "engine.count"),
        (b'{"text":"a"}', ["--fluw", "x"], "--flow"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(
    tmp_path: Path, loud: list[object], content: bytes | None, arguments: list[str], message: str
) -> None:
    path = tmp_path / "in.bin"
    if content is not None:
        path.write_bytes(content)
    ended = run("run", "--input", path, *loud, *arguments)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_column_for_the_text_is_asked_for(tmp_path: Path, loud: list[object]) -> None:
    ended = run("run", "--input", write(tmp_path / "in.csv", "a,b\n1,2\n"), *loud)
    assert ended.returncode == 2
    assert "--map text=COLUMN; columns: a, b" in ended.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_state_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    ended = run("run", "--input", posts(tmp_path / "in.jsonl", 1), "--state", locked / "state")
    assert ended.returncode == 2
    assert "state folder cannot be written" in ended.stderr


def test_a_state_folder_that_is_a_file_is_named(tmp_path: Path, loud: list[object]) -> None:
    ended = run("run", "--input", posts(tmp_path / "in.jsonl", 1), *loud[:2], "--state", write(tmp_path / "file", ""))
    assert ended.returncode == 2
    assert "state folder cannot be written" in ended.stderr


def test_help_answers_without_loading_what_it_describes() -> None:
    probe = "import sys, gristmill.cli.app as app; app.build_app(); print(*({'numpy', 'apsw'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_no_reason_to_fail(tmp_path: Path, loud: list[object], closed: str) -> None:
    path, output = posts(tmp_path / "in.jsonl", 2), tmp_path / "out.jsonl"
    words = [sys.executable, "-m", "gristmill", "run", "--input", path, "--output", output, *loud]
    ended = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", *map(str, words)], timeout=60, check=False)
    assert ended.returncode == 0
    assert len(read_lines(output)) == 2


def test_standard_input_that_is_closed_is_empty(loud: list[object]) -> None:
    words = [sys.executable, "-m", "gristmill", "run", "--input", "-", *loud]
    ended = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *map(str, words)], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 2
    assert "input file is empty" in ended.stderr


def test_the_name_of_a_file_may_hold_any_bytes(tmp_path: Path, loud: list[object]) -> None:
    path = posts(tmp_path / "posts\udcff \n.jsonl", 2)
    ended = run("run", "--input", path, "--output", tmp_path / "out.jsonl", *loud)
    assert ended.returncode == 0, ended.stderr
    assert len(read_lines(tmp_path / "out.jsonl")) == 2
