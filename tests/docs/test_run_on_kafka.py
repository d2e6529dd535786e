"""The guide to Kafka tells what can be set with its default, and its example is a configuration."""

import re
from pathlib import Path

import msgspec

from gristmill.runtime.settings_log import LogSection
from gristmill.runtime.settings_sources import load_settings

PAGE = (Path(__file__).parents[2] / "docs/guides/run-on-kafka.md").read_text(encoding="utf-8")
OURS = {"backend", "brokers", "topic_prefix", "partitions", "replicas", "client", "foreign", "password", "ca_file"}


def test_every_setting_of_kafka_is_told_with_its_default() -> None:
    told = dict(re.findall(r"^\| `(\w+)` \| `(.+?)` \|", PAGE, re.MULTILINE))
    defaults = {name: msgspec.json.encode(getattr(LogSection(), name)).decode() for name in OURS}
    assert {name: told.get(name) for name in OURS} == defaults


def test_the_example_is_a_configuration(tmp_path: Path) -> None:
    [block] = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    file = tmp_path / "gristmill.toml"
    file.write_text(block, encoding="utf-8")
    log = load_settings(file=file, env={}).settings.log
    assert (log.backend, log.replicas) == ("kafka", 3)
