"""A running group lets go of what it has worked off, and a person sees and steers what is let go of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.commands import open_records, put, read_lines, run, serves, started, wait_until, write

ECHO_FLOW = '''
"""Every text as it is."""
import msgspec

from gristmill import Flow, Generator, Item, Plan, cell, task


@cell("echo")
class Echo(msgspec.Struct, frozen=True):
    text: str


@task
def echo(item: Item) -> Echo:
    return Echo(item.text)


flow = Flow(
    "echo", plans=[Plan("echo", tasks=[echo])], generators=[Generator(type="echo", topic="echo", plans=("echo",))]
)
'''


def rows_of(state: Path, table: str) -> int:
    """Rows of a table, as `gristmill retention` tells them."""
    told = run("retention", "--state", state)
    assert told.returncode == 0, told.stderr
    [line] = [line.split() for line in told.stdout.splitlines() if line.split()[:1] == [table]]
    return int(line[1])


@pytest.mark.slow
async def test_a_group_lets_go_of_records_that_it_has_accepted(tmp_path: Path) -> None:
    state, flow = tmp_path / "state", write(tmp_path / "echo_flow.py", ECHO_FLOW)
    await put(state, "echo", [f"text {number}" for number in range(50)])
    env = {"GRISTMILL_STORE__RETENTION__SWEEP_INTERVAL_S": "0.2"}
    with started("up", "--flow", flow, "--state", state, env=env) as process:
        wait_until(lambda: serves(state), "the group serves")
        wait_until(lambda: rows_of(state, "log") == 0, "records are let go of")
        refused = run("compact", "--state", state)
        assert refused.returncode == 2
        assert "in use by process" in refused.stderr
        counters = run("metrics", "--state", state).stdout
        [deleted] = re.findall(r'^gristmill_retention_rows_deleted_total\{table="log"\} (\S+)$', counters, re.MULTILINE)
        assert float(deleted) == 50
        assert 'gristmill_background_last_success_seconds{name="retention"' in counters
        await put(state, "echo", ["one more"])
        wait_until(lambda: rows_of(state, "run") == 51, "the group goes on")
        process.terminate()
        assert process.wait(30) == 0
    assert await open_records(state, "echo") == 0
    compacted = run("compact", "--state", state)
    assert compacted.returncode == 0, compacted.stderr
    assert "bytes now" in compacted.stdout


def test_an_input_that_is_past_its_retention_starts_over(tmp_path: Path) -> None:
    state, flow = tmp_path / "state", write(tmp_path / "echo_flow.py", ECHO_FLOW)
    posts = write(tmp_path / "posts.jsonl", "".join(f'{{"id": "p{n}", "text": "text {n}"}}\n' for n in range(20)))
    command = ["run", "--input", posts, "--flow", flow, "--plan", "echo", "--state", state, "--output"]
    assert run(*command, tmp_path / "first.jsonl").returncode == 0
    kept = run("retention", "--now", "--state", state)
    assert "rows let go: none" in kept.stdout
    assert run(*command, tmp_path / "again.jsonl").returncode == 0
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "first.jsonl").read_bytes()
    env = {"GRISTMILL_STORE__RETENTION__INPUTS_DAYS": "0.0000001"}
    swept = run("retention", "--now", "--state", state, env=env)
    assert "20 of log" in swept.stdout, swept.stderr
    later = run(*command, tmp_path / "later.jsonl")
    assert later.returncode == 0, later.stderr
    assert read_lines(tmp_path / "later.jsonl") == read_lines(tmp_path / "first.jsonl")


def test_a_folder_without_a_store_has_nothing_to_let_go_of(tmp_path: Path) -> None:
    for command in ("retention", "compact"):
        told = run(command, "--state", tmp_path / "nothing")
        assert (told.returncode, "holds nothing" in told.stderr) == (2, True)
