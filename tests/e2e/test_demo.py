"""`gristmill demo`: what a person who meets the project sees first, in a pipe and on a terminal."""

import os
import pty
import re
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.commands import COMMAND, COMMAND_TIMEOUT_S, read_lines, run, wait_until

FACED = {"GRISTMILL_API__ENABLED": "true", "GRISTMILL_API__PORT": "0"}
LOGIN = re.compile(r"(http://[\d.]+:\d+)/console/login#token=(gm_\w+)")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder in which the demo ran, and what it printed."""
    state = tmp_path_factory.mktemp("demo") / "state"
    ended = run("demo", "--state", state, env=FACED)
    assert ended.returncode == 0, ended.stderr
    return state, ended.stdout


@pytest.fixture
def state(shown: tuple[Path, str]) -> Path:
    return shown[0]


def output(*arguments: object) -> str:
    ended = run(*arguments)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_pipe_gets_the_summary_and_the_command_that_serves_it(shown: tuple[Path, str]) -> None:
    state, text = shown
    assert re.search(r"records +63\s+done +61\s+failed +1\s+quarantined +1\s", text)
    for label in ("spam:", "toxic:", "duplicate:", "near-duplicate:", "pii:", "low-quality:", "languages:"):
        assert label in text
    assert "gristmill run --input YOUR.csv" in text
    assert f"gristmill demo --serve --state {state}" in text
    assert len(read_lines(state / "demo.jsonl")) == 63


def test_the_store_has_something_of_everything(state: Path) -> None:
    assert "could not convert string to float: '1.250.000'" in output("dlq", "ls", "--state", state)
    assert "record 63" in output("dlq", "quarantine", "--state", state)
    assert "negated" in output("show", "p61", "--state", state)
    hours = set(re.findall(rb'"created_at":"[-0-9]+T(\d\d)', (state / "demo_posts.jsonl").read_bytes()))
    assert len(hours) >= 5, "posts were written over an afternoon"


def test_a_second_demo_finds_what_the_first_has_done(state: Path) -> None:
    again = run("demo", "--state", state, env=FACED)
    assert again.returncode == 0
    assert "this input is finished: 63 records" in again.stderr
    assert output("show", "p61", "--state", state).count("warns of an advertisement") == 1


def test_a_console_that_is_turned_off_is_not_promised(state: Path) -> None:
    ended = run("demo", "--serve", "--state", state, env={"GRISTMILL_CONSOLE__ENABLED": "false"})
    assert (ended.returncode, "console is turned off" in ended.stdout) == (0, True)


@contextmanager
def on_a_terminal(state: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Start the demo where stdin and stdout are a terminal; what it prints goes to a file."""
    ours, theirs = pty.openpty()
    told = state.with_suffix(".told")
    told.write_bytes(b"")
    process = subprocess.Popen(
        [*COMMAND, "demo", "--state", str(state)],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **FACED},
        start_new_session=True,
    )
    os.close(theirs)
    os.set_blocking(ours, False)

    def take() -> bool:
        with suppress(OSError), told.open("ab") as file:
            file.write(os.read(ours, 65_536))
        return b"Ctrl-C ends it" in told.read_bytes()

    try:
        wait_until(take, "the console")
        yield process, told
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(ours)


@pytest.mark.slow
def test_a_terminal_gets_the_console_until_ctrl_c(state: Path) -> None:
    with on_a_terminal(state) as (process, told):
        found = LOGIN.search(told.read_text(encoding="utf-8"))
        assert found is not None
        url, token = found.groups()
        assert items_seen_with(token, url) == 62
        process.send_signal(signal.SIGINT)
        assert process.wait(COMMAND_TIMEOUT_S) == 0
    # The token ended with the demo, and nobody who reads the folder finds it.
    assert "gristmill demo" in output("token", "ls", "--state", state)
    secret = token.rpartition("_")[2].encode()
    assert [path.name for path in state.rglob("*") if path.is_file() and secret in path.read_bytes()] == []
    with on_a_terminal(state) as (_, again):
        url = LOGIN.findall(again.read_text(encoding="utf-8"))[-1][0]
        with pytest.raises(urllib.error.HTTPError, match="401"):
            items_seen_with(token, url)


def test_a_dead_letter_is_dropped_for_a_reason_that_the_log_keeps(state: Path) -> None:
    for wrong in (["1"], ["1", "--reason", " "], ["7", "--reason", "no such letter"]):
        assert run("dlq", "drop", *wrong, "--state", state).returncode == 2
    assert output("dlq", "drop", "1", "--reason", "the flat is sold", "--state", state) == "dropped: 1\n"
    assert "no dead letters" in output("dlq", "ls", "--state", state)
    assert run("dlq", "drop", "1", "--reason", "again", "--state", state).returncode == 2
    [line] = [line for line in read_lines(state / "gristmill.log") if line["event"] == "dead letter"]
    assert (line["status"], line["reason"]) == ("dropped", "the flat is sold")
    assert line["actor"].endswith("at the command line")


def items_seen_with(token: str, url: str) -> int:
    request = urllib.request.Request(f"{url}/v1/items?limit=200", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return int(answer.read().count(b'"item_id"'))
