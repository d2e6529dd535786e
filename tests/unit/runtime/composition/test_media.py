"""What looks at pictures, built from what was set, with and without the extra."""

import asyncio
from pathlib import Path

import pytest

from gristmill.adapters.media import ChildImageReader, GuardedFetcher, NothingInstalled, OpenNsfw
from gristmill.domain.errors import ConfigError
from gristmill.flows.screen import flow
from gristmill.ports.media import Fetched, Missing
from gristmill.runtime.composition import media
from gristmill.runtime.composition.flows import load_flows
from gristmill.runtime.settings import FlowsSection, MainSection, MediaSection, Settings


@pytest.fixture
def _without_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media, "is_media_installed", lambda: False)


def fetch(fetcher: GuardedFetcher | NothingInstalled, reference: str) -> Fetched | Missing:
    async def open_once() -> Fetched | Missing:
        async with fetcher.open(reference) as fetched:
            return fetched

    return asyncio.run(open_once())


def tasks_of(state: Path, section: MediaSection) -> set[str]:
    settings = Settings(main=MainSection(state_dir=str(state)), flows=FlowsSection(enabled=("screen",)), media=section)
    graph = load_flows(settings).registry.plans["screen"].graph
    return {node.name for node in graph.nodes}


def test_what_was_set_arrives(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"body")
    fetcher = media.build_fetcher(MediaSection(folder=str(tmp_path), image_bytes_max=4))
    assert fetch(fetcher, "file:a.png") == Fetched(b"body", "a.png")
    assert isinstance(fetch(media.build_fetcher(MediaSection(image_bytes_max=3)), "data:,body"), Missing)
    assert isinstance(media.build_reader(MediaSection()), ChildImageReader)


def test_one_model_of_a_process_plays_both_roles() -> None:
    assert isinstance(media.find_image_model(), OpenNsfw)
    assert media.find_image_model() is media.find_image_model()


def test_a_wrong_allow_list_keeps_an_engine_from_starting() -> None:
    with pytest.raises(ConfigError, match="allow-list"):
        media.build_fetcher(MediaSection(allow=("a b",)))


@pytest.mark.usefixtures("_without_extra")
def test_without_the_extra_pictures_are_missing_and_nothing_else_is() -> None:
    fetcher = media.build_fetcher(MediaSection())
    found = fetch(fetcher, "data:,body")
    assert isinstance(found, Missing)
    assert found.reason == "not_installed"
    assert isinstance(media.build_reader(MediaSection()), NothingInstalled)


def test_pictures_can_be_left_alone(tmp_path: Path) -> None:
    about_pictures = {"image_references", "pictures", "image_facts", "nudity", "similar_pictures"}
    assert about_pictures <= tasks_of(tmp_path, MediaSection())
    assert about_pictures <= tasks_of(tmp_path, MediaSection(on_error="degrade"))
    assert tasks_of(tmp_path, MediaSection(enabled=False)).isdisjoint(about_pictures)
    assert [plan.key for plan in flow.plans] == ["screen"]
