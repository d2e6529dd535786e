"""Settings come from four places, and each value says from which."""

from pathlib import Path
from typing import Any

import pytest

from gristmill.domain.errors import ConfigError
from gristmill.runtime.settings_sources import RUN_DEFAULTS, LoadedSettings, load_settings


def load(tmp_path: Path, text: str = "", **given: Any) -> LoadedSettings:
    path = tmp_path / "gristmill.toml"
    path.write_text(text, encoding="utf-8")
    return load_settings(file=path, env=given.pop("env", {}), **given)


def test_without_anything_the_published_defaults_hold() -> None:
    settings = load_settings(file=None, env={}).settings
    assert settings.dispatcher.max_in_flight == 3
    assert settings.engine.task_timeout_s == 900
    assert settings.main.shutdown_drain_timeout_s == 300
    assert (settings.main.gc_interval_s, settings.main.gc_jitter_s) == (28_800, 900)
    assert (settings.dispatcher.grace_s, settings.engine.grace_s) == (120, 120)
    assert settings.main.process_model == "split"


def test_flags_win_over_environment_over_file_over_command(tmp_path: Path) -> None:
    text = "[dispatcher]\nmax_in_flight = 7\nlease_ms = 5000\nrecoveries_max = 1\n[engine]\ncount = 2\n"
    env = {"GRISTMILL_ENGINE__COUNT": "3", "GRISTMILL_DISPATCHER__LEASE_MS": "6000", "GRISTMILL_CONFIG": "ignored"}
    loaded = load(tmp_path, text, env=env, flags={"engine.count": 4}, defaults=RUN_DEFAULTS)
    settings = loaded.settings
    assert (settings.engine.count, settings.dispatcher.lease_ms, settings.dispatcher.max_in_flight) == (4, 6000, 7)
    assert settings.dispatcher.recovery_delay_s == 1
    origins = {entry.key: entry.origin for entry in loaded.explain()}
    assert origins["engine.count"] == "flag"
    assert origins["dispatcher.lease_ms"] == "GRISTMILL_DISPATCHER__LEASE_MS"
    assert origins["dispatcher.max_in_flight"] == str(tmp_path / "gristmill.toml")
    assert origins["dispatcher.recovery_delay_s"] == "default of this command"
    assert origins["store.synchronous"] == "default"


def test_every_setting_says_what_it_is_for() -> None:
    assert [entry.key for entry in load_settings(file=None, env={}).explain() if not entry.description] == []


def test_lists_and_secrets_are_read_from_the_environment(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("prod\n", encoding="utf-8")
    env = {"GRISTMILL_FLOWS__ENABLED": "screen, mine", "GRISTMILL_MAIN__ENVIRONMENT_FILE": str(secret)}
    settings = load(tmp_path, env=env).settings
    assert settings.flows.enabled == ("screen", "mine")
    assert settings.main.environment == "prod"


def test_a_key_that_ends_like_a_secret_is_itself(tmp_path: Path) -> None:
    assert load(tmp_path, env={"GRISTMILL_MAIN__LOG_FILE": "log.jsonl"}).settings.main.log_file == "log.jsonl"


def test_paths_in_a_file_are_meant_from_its_folder(tmp_path: Path) -> None:
    settings = load(tmp_path, '[main]\nstate_dir = "state"\n[flows]\npaths = ["a.py"]\n').settings
    assert settings.main.state_dir == str(tmp_path / "state")
    assert settings.flows.paths == (str(tmp_path / "a.py"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[dispatcher]\nmax_inflight = 1\n", "dispatcher.max_inflight.*did you mean 'dispatcher.max_in_flight'"),
        ("[dispather]\nmax_in_flight = 1\n", "dispather.*did you mean 'dispatcher'"),
        ("[engine]\ncount = 'two'\n", "'engine.count'.*Expected `int`, got `str`"),
        ("[engine]\ncount = 0\n", "'engine.count'"),
        ("[log]\nbackend = 'redsi'\n", "'log.backend'.*'redsi'.*did you mean 'redis'.*known: kafka, redis, sqlite"),
        ("engine = 1\n", "not a section"),
        ("[engine\n", "cannot be read"),
    ],
)
def test_a_file_that_is_wrong_keeps_it_from_starting(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(tmp_path, text)


def test_an_unknown_variable_and_a_missing_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"GRISTMILL_ENGINE__COUNTS.*engine\.count"):
        load(tmp_path, env={"GRISTMILL_ENGINE__COUNTS": "1"})
    with pytest.raises(ConfigError, match="named by GRISTMILL_ENGINE__COUNT_FILE"):
        load(tmp_path, env={"GRISTMILL_ENGINE__COUNT_FILE": str(tmp_path / "none")})
    with pytest.raises(ConfigError, match="does not exist"):
        load_settings(file=tmp_path / "none.toml", env={})


def test_a_default_that_follows_from_something_else_yields_to_what_was_set(tmp_path: Path) -> None:
    loaded = load(tmp_path, "[engine]\ncount = 2\n")
    assert loaded.with_default("engine.count", 5, origin="cores").settings.engine.count == 2
    changed = loaded.with_default("dispatcher.max_in_flight", 9, origin="no plan calls a model")
    assert changed.settings.dispatcher.max_in_flight == 9
    assert changed.origins["dispatcher.max_in_flight"] == "no plan calls a model"


def test_a_section_may_stand_inside_a_section(tmp_path: Path) -> None:
    text = '[store]\nsynchronous = "NORMAL"\n[store.retention]\nruns_days = 7\nevents_days = 0.5\n'
    loaded = load(tmp_path, text, env={"GRISTMILL_STORE__RETENTION__RUNS_DAYS": "9"}, flags={})
    assert loaded.settings.store.retention.runs_days == 9
    assert loaded.settings.store.retention.events_days == 0.5
    assert loaded.settings.store.synchronous == "NORMAL"
    origins = {entry.key: entry.origin for entry in loaded.explain()}
    assert origins["store.retention.runs_days"] == "GRISTMILL_STORE__RETENTION__RUNS_DAYS"
    assert origins["store.retention.events_days"] == str(tmp_path / "gristmill.toml")
    changed = loaded.with_default("store.retention.items_days", 365, origin="a command").settings
    assert (changed.store.retention.items_days, changed.store.retention.runs_days) == (365, 9)
    with pytest.raises(ConfigError, match=r"store\.retention\.run_days.*did you mean 'store\.retention\.runs_days'"):
        load(tmp_path, "[store.retention]\nrun_days = 1\n")
    with pytest.raises(ConfigError, match=r"store\.retention"):
        load(tmp_path, "[store]\nretention = 1\n")
