"""Checks of publishing, on the store that keeps what it has answered."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from gristmill.adapters.sqlite import SqliteStore
from gristmill.testing.clock import FakeClock
from tests.faces import Face, face

DAY_MS = 24 * 3_600 * 1_000


@asynccontextmanager
async def faced(path: Path, clock: FakeClock) -> AsyncIterator[Face]:
    """Services over a file; leaving and entering again is a restart."""
    store = SqliteStore.open(path, clock=clock, owner="main", synchronous="NORMAL")
    try:
        async with face(store, clock=clock) as made:
            yield made
    finally:
        await store.close()


async def publish(made: Face, token: dict[str, str], key: str, **body: Any) -> tuple[int, Any]:
    answer = await made.client.post("/v1/items", json=body, headers={**token, "Idempotency-Key": key})
    return answer.status_code, answer.json()


async def test_AC_EN_004_a_key_makes_a_repeated_call_happen_once(tmp_path: Path) -> None:
    clock = FakeClock()
    async with faced(tmp_path / "store.sqlite", clock) as made:
        ann, bob = await made.token("operator", tenant="main"), await made.token("operator", tenant="main")
        answers = await asyncio.gather(*(publish(made, ann, "k", text="hello") for _ in range(20)))
        assert {status for status, _ in answers} == {202}
        assert len({answer["item_id"] for _, answer in answers}) == 1
        assert await made.store.log.end("items") == 1
        status, refused = await publish(made, ann, "k", text="something else")
        assert (status, refused["type"]) == (409, "/problems/key-reused")
        assert await made.store.log.end("items") == 1
        # A key is the caller's own: the same one of another caller is another call.
        assert (await publish(made, bob, "k", text="something else"))[0] == 202
        assert await made.store.log.end("items") == 2
    async with faced(tmp_path / "store.sqlite", clock) as made:
        assert await publish(made, ann, "k", text="hello") == answers[0]
        clock.advance(DAY_MS - 1_000)
        assert await publish(made, ann, "k", text="hello") == answers[0]
        assert await made.store.log.end("items") == 2
        clock.advance(2_000)
        status, again = await publish(made, ann, "k", text="something else")
        assert (status, again["item_id"] != answers[0][1]["item_id"]) == (202, True)
