"""What every registry of definitions must hold."""

from __future__ import annotations

import asyncio

import pytest

from gristmill.domain.errors import StaleRead, UsageError
from gristmill.ports.definitions import DEFINITION_BYTES_MAX, Definition, Definitions

__all__ = ["DefinitionContract"]


def _source(name: str, body: str, *, tenant: str = "main", kind: str = "source") -> Definition:
    """Make a definition to publish."""
    return Definition(
        kind=kind, tenant=tenant, name=name, revision=0, hash=f"#{body[:20]}", at_ms=7, actor="me", body=body
    )


class DefinitionContract:
    """See `ports.definitions.Definitions`. A subclass gives it a `definitions` fixture."""

    @pytest.fixture
    async def definitions(self) -> Definitions:
        """Overridden by the test class of a backend."""
        raise NotImplementedError("give the subclass a fixture named definitions")

    async def test_revisions_count_up_and_all_of_them_stay(self, definitions: Definitions) -> None:
        first = await definitions.publish(_source("news", "a"))
        second = await definitions.publish(_source("news", "b"))
        assert (first.revision, second.revision, second.body, second.actor, second.at_ms) == (1, 2, "b", "me", 7)
        assert list(await definitions.history("source", "news", tenant="main")) == [first, second]
        assert list(await definitions.latest("source")) == [second]

    async def test_equal_content_is_no_new_revision(self, definitions: Definitions) -> None:
        first = await definitions.publish(_source("news", "a"))
        version = await definitions.version()
        assert await definitions.publish(_source("news", "a")) == first
        assert await definitions.version() == version
        await definitions.publish(_source("news", "b"))
        assert (await definitions.publish(_source("news", "a"))).revision == 3

    async def test_kinds_tenants_and_names_count_apart(self, definitions: Definitions) -> None:
        await definitions.publish(_source("news", "a"))
        others = [_source("news", "b", tenant="acme"), _source("posts", "b"), _source("news", "b", kind="rule")]
        assert [(await definitions.publish(other)).revision for other in others] == [1, 1, 1]
        found = [(one.tenant, one.name) for one in await definitions.latest("source")]
        assert found == [("acme", "news"), ("main", "news"), ("main", "posts")]
        assert await definitions.latest("nothing") == []
        assert await definitions.history("source", "nothing", tenant="main") == []

    async def test_the_version_grows_with_each_revision(self, definitions: Definitions) -> None:
        assert await definitions.version() == 0
        await definitions.publish(_source("news", "a"))
        version = await definitions.version()
        await definitions.publish(_source("posts", "a"))
        assert await definitions.version() > version > 0

    async def test_publishing_is_a_compare_and_set_where_one_wants_it(self, definitions: Definitions) -> None:
        await definitions.publish(_source("news", "a"), expected=0)
        with pytest.raises(StaleRead, match="news"):
            await definitions.publish(_source("news", "b"), expected=0)
        assert (await definitions.publish(_source("news", "b"), expected=1)).revision == 2
        with pytest.raises(StaleRead, match="news"):
            await definitions.publish(_source("news", "c"), expected=1)

    async def test_of_many_that_publish_at_once_each_gets_a_revision(self, definitions: Definitions) -> None:
        stored = await asyncio.gather(*(definitions.publish(_source("news", f"{number}")) for number in range(20)))
        assert sorted(one.revision for one in stored) == list(range(1, 21))

    async def test_an_overlong_body_is_refused(self, definitions: Definitions) -> None:
        with pytest.raises(UsageError, match="too large"):
            await definitions.publish(_source("news", "x" * (DEFINITION_BYTES_MAX + 1)))
