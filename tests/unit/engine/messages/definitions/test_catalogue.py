from __future__ import annotations

from pathlib import Path

import pytest

from gristmill.adapters.memory.definitions import MemoryDefinitions
from gristmill.domain.errors import ConfigError, StaleRead
from gristmill.engine.messages.definitions.catalogue import load_routes, load_table, publish_routes
from gristmill.ports.definitions import Definition
from gristmill.testing.clock import FakeClock

COMMENTS = "routes: comments\ntypes:\n  comment.published: {plans: [screen]}\n"
POSTS = "routes: posts\ntypes:\n  post.published: {plans: [screen]}\n"


async def publish(definitions: MemoryDefinitions, text: str, *, expected: int | None = None) -> Definition:
    return await publish_routes(definitions, text, file="r.yaml", actor="me", clock=FakeClock(), expected=expected)


async def test_the_table_has_the_latest_routes_of_every_business() -> None:
    definitions = MemoryDefinitions()
    await publish(definitions, COMMENTS)
    await publish(definitions, POSTS)
    newer = await publish(definitions, COMMENTS + "  comment.heated: {plans: [review], tier: urgent}\n", expected=1)
    assert newer.revision == 2
    assert (await load_table(definitions)).types == ["comment.heated", "comment.published", "post.published"]


async def test_nothing_is_published_that_has_no_table() -> None:
    definitions = MemoryDefinitions()
    await publish(definitions, COMMENTS)
    with pytest.raises(ConfigError, match="one in 'posts' and one in 'comments'"):
        await publish(definitions, POSTS.replace("post.", "comment."))
    with pytest.raises(ConfigError, match=r"r\.yaml:"):
        await publish(definitions, "routes: posts\n")
    with pytest.raises(StaleRead):
        await publish(definitions, COMMENTS + "# other\n", expected=7)
    assert (await load_table(definitions)).types == ["comment.published"]


def test_a_file_is_read_or_named(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(COMMENTS, encoding="utf-8")
    assert load_routes(path).business == "comments"
    path.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match=r"r\.yaml"):
        load_routes(path)
    with pytest.raises(ConfigError, match=r"gone\.yaml"):
        load_routes(tmp_path / "gone.yaml")
