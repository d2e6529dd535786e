"""Who plays which role."""

from pathlib import Path
from typing import Annotated

import pytest

from gristmill import LLM, Cache, Embedder, Flow, Item, Plan, Role, task
from gristmill.adapters.clock import SystemClock
from gristmill.adapters.memory import MemoryStore
from gristmill.domain.errors import ConfigError
from gristmill.plans.registry import Registry, build_registry
from gristmill.plans.resources import Need
from gristmill.runtime.composition.resources import Surroundings, fill_needs, find_providers, refuse_missing
from gristmill.runtime.folder import StateFolder


@task
def remember(
    item: Item, cache: Annotated[Cache, Role("dedupe")], vector: Annotated[Embedder, Role("text")]
) -> None: ...


@task
async def judge(item: Item, model: Annotated[LLM, Role("safety")]) -> None: ...


def registry(*plans: Plan) -> Registry:
    return build_registry([Flow("f", plans=plans)])


def test_each_need_is_filled_by_who_plays_the_role(tmp_path: Path) -> None:
    store = MemoryStore(SystemClock())
    used = registry(Plan("p", tasks=[remember]))
    refuse_missing(used, find_providers())
    filled = fill_needs(used, find_providers(), Surroundings(StateFolder(tmp_path), store.cache))
    assert filled[Need(Cache, "dedupe")] is store.cache
    assert type(filled[Need(Embedder, "text")]).__name__ == "StaticEmbedder"


def test_a_role_that_nobody_plays_is_named_with_its_plan() -> None:
    with pytest.raises(ConfigError, match=r"plan 'q' needs LLM 'safety'.*none"):
        refuse_missing(registry(Plan("q", tasks=[judge])), find_providers())
