"""The guide to Redis tells what can be set with its default, and its example is a configuration."""

import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from gristmill.runtime.settings_log import LogSection
from gristmill.runtime.settings_sources import load_settings

PAGE = (Path(__file__).parents[2] / "docs/guides/run-on-redis.md").read_text(encoding="utf-8")


def test_every_setting_of_redis_is_told_with_its_default() -> None:
    ours = {"backend", "url", "password", "ca_file", "prefix", "ephemeral", "foreign", "topics"}
    told = dict(re.findall(r"^\| `(\w+)` \| `(.+?)` \|", PAGE, re.MULTILINE))
    defaults = {name: getattr(LogSection(), name) for name in ours}
    assert told == {name: msgspec.json.encode(value).decode() for name, value in defaults.items()}


def test_the_example_is_a_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [block] = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    file = tmp_path / "gristmill.toml"
    file.write_text(block, encoding="utf-8")
    loaded = load_settings(file=file, env={"GRISTMILL_LOG__PASSWORD": "secret"})
    assert loaded.settings.log.url == tomllib.loads(block)["log"]["url"]
    shown = {entry.key: entry.value for entry in loaded.explain()}
    assert (loaded.settings.log.password, shown["log.password"]) == ("secret", "***")
