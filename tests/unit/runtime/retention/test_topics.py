"""What `[log.topics]` may declare, and what it may not."""

from pathlib import Path

import pytest

from gristmill.domain.errors import ConfigError
from gristmill.domain.upkeep.topics import LossyRule
from gristmill.runtime.retention.topics import read_lossy
from gristmill.runtime.settings_log import LogSection
from gristmill.runtime.settings_sources import load_settings


def declare(tmp_path: Path, text: str, *, backend: str = "sqlite") -> LogSection:
    file = tmp_path / "gristmill.toml"
    file.write_text(f'[log]\nbackend = "{backend}"\n{text}', encoding="utf-8")
    return load_settings(file=file, env={}).settings.log


def test_topics_are_kept_until_they_are_consumed_unless_they_are_lossy(tmp_path: Path) -> None:
    section = declare(
        tmp_path,
        '[log.topics."feed.served"]\nretention = "lossy"\nmax_entries = 20000\nmax_age_s = 0.5\n'
        '[log.topics.invalidations]\nretention = "lossy"\nmax_age_s = 60\n'
        '[log.topics.kept]\nretention = "until_consumed"\n',
    )
    assert read_lossy(section) == {
        "feed.served": LossyRule(max_entries=20_000, max_age_ms=500),
        "invalidations": LossyRule(max_age_ms=60_000),
    }
    assert read_lossy(LogSection()) == {}


@pytest.mark.parametrize(
    "topic", ["items", "item.published", "profile.updated", "item.feedback", "screen.recovery", "run.posts.1"]
)
def test_what_exists_nowhere_else_cannot_be_lossy(tmp_path: Path, topic: str) -> None:
    section = declare(tmp_path, f'[log.topics."{topic}"]\nretention = "lossy"\nmax_entries = 5\n')
    with pytest.raises(ConfigError, match=f"{topic}.*cannot be lossy"):
        read_lossy(section)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('retention = "lossy"', "without a bound"),
        ("max_entries = 5", "not lossy"),
        ("max_age_s = 5", "not lossy"),
    ],
)
def test_a_bound_and_lossy_belong_together(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        read_lossy(declare(tmp_path, f"[log.topics.t]\n{text}\n"))


def test_kafka_counts_no_records(tmp_path: Path) -> None:
    text = '[log.topics.t]\nretention = "lossy"\nmax_entries = 5\n'
    with pytest.raises(ConfigError, match=r"max_entries on Kafka.*max_age_s"):
        read_lossy(declare(tmp_path, text, backend="kafka"))


@pytest.mark.parametrize(
    "text",
    ['retention = "sometimes"', "max_entries = 0", "max_age_s = -1", "max_items = 3"],
)
def test_what_cannot_be_meant_is_refused_where_it_is_read(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"log\.topics"):
        declare(tmp_path, f"[log.topics.t]\n{text}\n")


def test_the_environment_gives_topics_as_json(tmp_path: Path) -> None:
    env = {"GRISTMILL_LOG__TOPICS": '{"t": {"retention": "lossy", "max_entries": 3}}'}
    assert read_lossy(load_settings(file=None, env=env).settings.log) == {"t": LossyRule(max_entries=3)}
    with pytest.raises(ConfigError, match="JSON"):
        load_settings(file=None, env={"GRISTMILL_LOG__TOPICS": "t=3"})
