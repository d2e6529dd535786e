"""Recent items as a person has them: a feeder and a server as processes over one state folder."""

from __future__ import annotations

import json
import signal
from contextlib import suppress
from pathlib import Path

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import new_owner
from gristmill.adapters.sqlite import SqliteStore
from gristmill.api.security import make_token
from gristmill.cli.asking import ask_json
from gristmill.domain.errors import Unavailable
from gristmill.domain.log import NewRecord
from tests.commands import run, started, wait_until

PORTS = {"GRISTMILL_RECENT__PORT": "0", "GRISTMILL_RECENT__FEED_PORT": "0"}
PATIENCE_S = 100
CLOCK = SystemClock()


def raw(item: int, author: int) -> bytes:
    created_ms = CLOCK.now_ms() - 9_000 + item
    return json.dumps({"event": "create", "item_id": str(item), "author_id": author, "created_at": created_ms}).encode()


async def test_AC_RS_008_what_comes_in_is_fed_served_and_asked_for_at_the_command_line(tmp_path: Path) -> None:
    state, authors = tmp_path / "state", tmp_path / "authors.txt"
    state.mkdir()
    authors.write_text("7\n8\n", encoding="utf-8")
    store = SqliteStore.open(state / "gristmill.sqlite", clock=CLOCK, owner=new_owner())
    made = make_token("me", role="viewer", tenant="main", now_ms=CLOCK.now_ms())
    await store.front.tokens.add(made.stored)
    await store.log.append("content.events", [NewRecord(value) for value in (raw(1, 7), raw(2, 8), b"broken")])
    env = {**PORTS, "GRISTMILL_TOKEN": made.text}
    address = state / "run" / "recent.address"

    def has(count: int) -> bool:
        with suppress(FileNotFoundError, Unavailable):
            stats = ask_json(address.read_text().strip() + "/v1/recent/stats", token=made.text)
            return bool(stats["state"] == "ready" and stats["sizes"]["items"] == count)
        return False

    with started("recent", "feed", "--state", state, env=env) as feeder:
        with started("recent", "serve", "--state", state, env=env) as server:
            wait_until(lambda: has(2), "both items are served", timeout_s=PATIENCE_S)
            await store.log.append("content.events", [NewRecord(raw(3, 7))])
            wait_until(lambda: has(3), "the new item is served", timeout_s=PATIENCE_S)
            query = run("recent", "query", "--authors", authors, "--n", "2", "--state", state, env=env)
            assert [json.loads(line)["item_id"] for line in query.stdout.splitlines()] == ["3", "2"]
            server.send_signal(signal.SIGTERM)
            assert server.wait(PATIENCE_S) == 0
        assert not address.exists()
        feeder.send_signal(signal.SIGTERM)
        assert feeder.wait(PATIENCE_S) == 0
    await store.close()
