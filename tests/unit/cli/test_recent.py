"""The commands around recent items, where no process is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gristmill.cli.asking import ask_json
from gristmill.cli.commands.serving.recent import EXIT_BROKEN, run_role
from gristmill.cli.options import load
from gristmill.domain.errors import ConfigError, Unavailable, UsageError
from gristmill.recent import StoreLimits
from gristmill.runtime.recent.roles import read_limits, read_mapping
from gristmill.runtime.recent.settings import RecentSection


def test_AC_RS_014_a_role_that_breaks_ends_its_process_with_70(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # It would log into the captured stream for all tests that follow.
    monkeypatch.setattr("gristmill.cli.commands.serving.recent.configure_logging", lambda *_, **__: None)

    async def break_down(*_: Any) -> None:
        raise ValueError("partition 3 of recent.items is broken")

    assert run_role("recent-serve", load(state=tmp_path / "state"), break_down) == EXIT_BROKEN == 70
    assert "partition 3 of recent.items is broken" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("url", "error"), [("ftp://x/", UsageError), ("http://127.0.0.1:1/v1/recent/stats", Unavailable)]
)
def test_a_server_that_cannot_be_asked_is_named(url: str, error: type[Exception]) -> None:
    with pytest.raises(error, match=url[:8]):
        ask_json(url, token="t")


def test_a_name_that_raw_events_have_no_value_for_is_refused() -> None:
    assert read_mapping(RecentSection(paths={"item": "post.id"})).item == "post.id"
    with pytest.raises(ConfigError, match=r"recent\.paths: 'itme'.*item"):
        read_mapping(RecentSection(paths={"itme": "post.id"}))


def test_the_defaults_of_settings_are_those_of_the_store() -> None:
    assert read_limits(RecentSection()) == StoreLimits()
