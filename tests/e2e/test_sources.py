"""Sources from the command line: tried, published, looked at, and live in a running group."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import new_owner
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.log import NewRecord
from tests.commands import LOUD_FLOW, read_lines, run, started, wait_until, write

SOURCE = """\
source: feed
type: post
identity: {biz_id: "$.key"}
map:
  - {to: text, path: "$.body", required: true}
filter: [{drop: advert, when: "item.text.startsWith('AD ')"}]
start: [loud]
"""
SERVED_FLOW = (
    LOUD_FLOW
    + """
from gristmill import Flow, Generator

flow = Flow(
    "loud", plans=[loud], generators=[Generator(type="feeding", topic="raw.feed", plans=("loud",), source="feed")]
)
"""
)
LIVE_S = 5


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write(tmp_path / "feed.yaml", SOURCE)


def sample(path: Path, *values: object) -> Path:
    return write(path, "".join(json.dumps(value) + "\n" for value in values))


def test_a_trial_shows_bad_records_and_says_so_in_its_exit_code(tmp_path: Path, source: Path) -> None:
    lines = sample(tmp_path / "in.jsonl", {"key": 1, "body": "a"}, {"key": 2}, {"key": 3, "body": "AD b"})
    tried = run("source", "try", source, "--input", lines)
    assert tried.returncode == 3
    for said in ("66.7 %", "1  accepted", "1  filtered:advert", "1  quarantined:mapping", "record 2 2 is bad:"):
        assert said in tried.stdout
    assert "/text: is required, and $.body finds nothing" in tried.stdout
    assert run("source", "try", source, "--input", lines, "--limit", 1).returncode == 0


def test_a_source_is_published_over_the_revision_that_was_seen(tmp_path: Path, source: Path) -> None:
    state = ("--state", tmp_path / "state")
    assert "feed: revision 1" in run("source", "publish", source, *state, "--expect", 0).stdout
    assert "feed: revision 1" in run("source", "publish", source, *state).stdout
    write(source, SOURCE.replace("AD ", "Ad "))
    refused = run("source", "publish", source, *state, "--expect", 0)
    assert refused.returncode == 1
    assert "expected revision 0" in refused.stderr
    assert "feed: revision 2" in run("source", "publish", source, *state, "--expect", 1).stdout
    assert "feed" in run("source", "ls", *state).stdout
    shown = run("source", "show", "feed", *state).stdout
    assert shown.endswith(source.read_text(encoding="utf-8"))
    assert "# revision 1" in shown.replace("#  ", "# ")
    assert run("source", "show", "feed", "--revision", 1, *state).stdout.endswith(SOURCE)
    unknown = run("source", "show", "fed", *state)
    assert unknown.returncode == 2
    assert "did you mean 'feed'" in unknown.stderr


def test_a_trial_that_fails_keeps_a_source_from_being_published(tmp_path: Path, source: Path) -> None:
    lines = sample(tmp_path / "in.jsonl", {"id": 1, "text": "a"})
    refused = run("source", "publish", source, "--input", lines, "--state", tmp_path / "state")
    assert refused.returncode == 3
    assert "quarantined:mapping" in refused.stdout
    assert "feed" not in run("source", "ls", "--state", tmp_path / "state").stdout


def test_a_wrong_file_is_refused_by_every_command(tmp_path: Path, source: Path) -> None:
    write(source, SOURCE.replace("to: text", "to: txet"))
    config = write(tmp_path / "gristmill.toml", '[sources]\npaths = ["feed.yaml"]\n')
    for command in (("source", "publish", source), ("check", "--config", config)):
        refused = run(*command, "--state", tmp_path / "state")
        assert refused.returncode == 2
        assert "feed.yaml:5: map: unknown field 'txet' (did you mean 'text'?" in refused.stderr


def test_a_run_by_a_source_tells_what_was_left_out(tmp_path: Path, source: Path) -> None:
    lines = sample(tmp_path / "in.jsonl", {"key": 1, "body": "a"}, {"key": 2, "body": "AD b"}, {"key": 3, "body": "c"})
    output, flow = tmp_path / "out.jsonl", write(tmp_path / "loud.py", LOUD_FLOW)
    arguments = ("--source", source, "--flow", flow, "--input", lines, "--output", output, "--state", tmp_path / "s")
    ended = run("run", *arguments)
    assert ended.returncode == 0, ended.stderr
    found = [(line["id"], line["status"], line["error"]) for line in read_lines(output)]
    assert found == [("1", "done", ""), ("2", "filtered", "advert"), ("3", "done", "")]
    assert "1 fields, sound" in run("check", env={"GRISTMILL_SOURCES__PATHS": str(source)}).stdout


async def append(state: Path, *keys: int) -> None:
    store = SqliteStore.open(state / "gristmill.sqlite", clock=SystemClock(), owner=new_owner())
    await store.log.append(
        "raw.feed", [NewRecord(json.dumps({"key": key, "body": f"text {key}"}).encode()) for key in keys]
    )
    await store.close()


async def source_revisions(state: Path) -> dict[str, int]:
    """Return input id -> revision of the Source that mapped it."""
    store = SqliteStore.open(state / "gristmill.sqlite", clock=SystemClock(), owner=new_owner())
    found: dict[str, int] = {}
    for run_ in await store.state.runs_between("feeding", after=0, limit=1_000):
        item = await store.state.item(run_.item_id)
        bodies = [event.body for event in await store.state.events(run_.item_id) if event.kind == "item.ingested"]
        assert item is not None
        assert len(bodies) == 1
        found[item.input_id] = bodies[0]["source_revision"]
    await store.close()
    return found


def test_AC_IN_004_a_running_group_takes_a_new_revision_up_without_a_restart(tmp_path: Path, source: Path) -> None:
    state, flow = tmp_path / "state", write(tmp_path / "served.py", SERVED_FLOW)
    config = write(tmp_path / "gristmill.toml", '[sources]\npaths = ["feed.yaml"]\n[flows]\nenabled = ["loud"]\n')
    with started("up", "--flow", flow, "--state", state, "--config", config):
        wait_until(lambda: "feed" in run("source", "ls", "--state", state).stdout, "the source of the settings")
        asyncio.run(append(state, *range(50)))
        wait_until(lambda: len(asyncio.run(source_revisions(state))) == 50, "the first records")
        write(source, SOURCE.replace('"$.body"', '"$.body", convert: [strip]'))
        assert "revision 2" in run("source", "publish", source, "--state", state).stdout
        keys = iter(range(1_000, 2_000))

        def is_live() -> bool:
            asyncio.run(append(state, next(keys)))
            return 2 in asyncio.run(source_revisions(state)).values()

        wait_until(is_live, "a record that is mapped by the new revision", timeout_s=LIVE_S)
        last = next(keys)
        asyncio.run(append(state, *range(2_000, 2_050)))
        wait_until(lambda: len(asyncio.run(source_revisions(state))) == 50 + (last - 1_000) + 50, "the last records")
    revisions = asyncio.run(source_revisions(state))
    assert {revisions[str(key)] for key in range(50)} == {1}
    assert {revisions[str(key)] for key in range(2_000, 2_050)} == {2}
