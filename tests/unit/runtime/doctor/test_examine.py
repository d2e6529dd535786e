"""The doctor on this host and on a server of its own: what is measured, what is left behind, what stops a start."""

from __future__ import annotations

import importlib.util
import os
import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import measure_disk
from gristmill.cli import main
from gristmill.domain.errors import ConfigError
from gristmill.domain.upkeep.finding import Finding
from gristmill.runtime.composition.stores import check_log
from gristmill.runtime.doctor.examine import examine_all, refuse_unfit_host
from gristmill.runtime.settings import FlowsSection, MainSection, Settings
from gristmill.runtime.settings_faces import GrpcSection
from gristmill.runtime.settings_log import LogSection
from gristmill.runtime.spec import GroupSpec
from gristmill.testing.redis_server import RedisProcess
from tests.on_postgres.servers import fresh_server
from tests.redis_servers import program_or_skip

HOUR_MS = 3_600_000


@pytest.fixture
def forgetful(tmp_path: Path) -> Iterator[RedisProcess]:
    """A server that keeps nothing over its restart."""
    process = RedisProcess(tmp_path / "server", program=program_or_skip("valkey"), is_durable=False)
    process.start()
    yield process
    process.stop()


def settings_of(state: Path, **log: Any) -> Settings:
    return Settings(main=MainSection(state_dir=str(state)), log=LogSection(**log))


async def examine(settings: Settings) -> dict[str, Finding]:
    findings = await examine_all(settings, SystemClock(), outage_ms=HOUR_MS)
    by_check = {finding.check: finding for finding in findings}
    assert len(by_check) == len(findings)
    return by_check


async def test_a_look_at_the_host_leaves_nothing_behind(tmp_path: Path) -> None:
    found = await examine(settings_of(tmp_path / "not" / "yet"))
    assert os.listdir(tmp_path) == []
    assert {"python", "sqlite", "open files", "file system", "free space", "syncs in place", "clock"} <= found.keys()
    assert found["store.synchronous"].verdict == "ok"


async def test_a_store_that_was_written_in_the_future_tells_that_the_clock_went_back(tmp_path: Path) -> None:
    store = tmp_path / "gristmill.sqlite"
    store.touch()
    ahead_s = SystemClock().now_ms() // 1_000 + 3_600
    os.utime(store, (ahead_s, ahead_s))
    assert (await examine(settings_of(tmp_path)))["clock"].verdict == "warning"


async def test_a_folder_that_cannot_be_written_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    found = await examine(settings_of(tmp_path))
    assert found["state folder"].verdict == "refused"
    assert "Permission denied" in found["state folder"].advice


def test_a_disk_that_takes_seconds_is_measured_by_few_syncs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now_us = iter(range(0, 10**12, 1_500_000))
    times = measure_disk(tmp_path, now_us=lambda: next(now_us))
    assert times.growing_us == times.in_place_us == (1_500_000, 1_500_000)


def test_a_group_does_not_start_where_it_may_open_few_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 64))
    with pytest.raises(ConfigError, match=r"open files.*64.*ulimit -n"):
        refuse_unfit_host(settings_of(tmp_path))
    assert main(["doctor", "--state", str(tmp_path)]) == 2
    assert "LimitNOFILE" in capsys.readouterr().out


async def test_extras_are_asked_for_where_something_enabled_uses_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    settings = settings_of(tmp_path, backend="redis", url="redis://127.0.0.1:1")
    found = await examine(msgspec.structs.replace(settings, grpc=GrpcSection(enabled="on")))
    verdicts = {name: found[f"extra {name}"].verdict for name in ("redis", "grpc", "text", "media")}
    assert verdicts == {"redis": "refused", "grpc": "refused", "text": "warning", "media": "warning"}
    other = msgspec.structs.replace(settings_of(tmp_path), flows=FlowsSection(enabled=("mine",)))
    assert not [check for check in await examine(other) if check.startswith("extra")]


async def test_a_server_that_is_not_there_is_a_finding_with_the_next_step(tmp_path: Path) -> None:
    found = (await examine(settings_of(tmp_path, backend="redis", url="redis://127.0.0.1:1")))["redis reachable"]
    assert found.verdict == "refused"
    assert found.advice


async def test_P1_a_redis_that_forgets_stops_the_start_unless_somebody_has_said_so(
    tmp_path: Path, forgetful: RedisProcess
) -> None:
    settings = settings_of(tmp_path, backend="redis", url=forgetful.url)
    found = await examine(settings)
    assert found["redis appendonly"].verdict == "refused"
    assert found["clock of redis"].verdict == "ok"
    with pytest.raises(ConfigError, match=r"appendonly.*log\.ephemeral"):
        await check_log(GroupSpec(state_dir=str(tmp_path), settings=settings))
    borne = settings_of(tmp_path, backend="redis", url=forgetful.url, ephemeral=True)
    assert (await examine(borne))["redis appendonly"].verdict == "warning"
    await check_log(GroupSpec(state_dir=str(tmp_path), settings=borne))


async def test_P1_a_redis_that_syncs_once_a_second_is_warned_about(tmp_path: Path, forgetful: RedisProcess) -> None:
    forgetful.say("CONFIG", "SET", "appendonly", "yes")
    forgetful.say("CONFIG", "SET", "appendfsync", "everysec")
    found = await examine(settings_of(tmp_path, backend="redis", url=forgetful.url))
    assert (found["redis appendfsync"].verdict, found["redis appendfsync"].found) == ("warning", "everysec")
    forgetful.say("CONFIG", "SET", "appendfsync", "always")
    found = await examine(settings_of(tmp_path, backend="redis", url=forgetful.url))
    assert found["redis appendfsync"].verdict == "ok"


async def test_a_database_is_looked_at_and_nothing_is_made_there(tmp_path: Path) -> None:
    target = fresh_server().target
    findings = await examine_all(settings_of(tmp_path), SystemClock(), outage_ms=HOUR_MS, database=target.url)
    verdicts = {one.check: one.verdict for one in findings if "postgres" in one.check}
    assert set(verdicts.values()) == {"ok"}
    assert {"postgres reachable", "postgres synchronous_commit", "clock of postgres"} <= verdicts.keys()
    nowhere = "postgresql://gristmill@127.0.0.1:9/postgres"
    findings = await examine_all(settings_of(tmp_path), SystemClock(), outage_ms=HOUR_MS, database=nowhere)
    assert [one.verdict for one in findings if "postgres" in one.check] == ["refused"]


@pytest.mark.parametrize(
    ("flags", "env", "code"),
    [
        ([], {"GRISTMILL_FLOWS__ENABLED": "mine"}, 0),
        ([], {"GRISTMILL_STORE__SYNCHRONOUS": "NORMAL"}, 0),
        (["--strict"], {"GRISTMILL_STORE__SYNCHRONOUS": "NORMAL"}, 1),
        (["--strict"], {"GRISTMILL_LOG__BACKEND": "redis", "GRISTMILL_LOG__URL": "redis://127.0.0.1:1"}, 2),
    ],
)
def test_the_exit_code_tells_refused_from_warned_about(
    tmp_path: Path,
    *,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    flags: list[str],
    env: dict[str, str],
    code: int,
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert main(["doctor", "--json", "--state", str(tmp_path), *flags]) == code
    findings = msgspec.json.decode(capsys.readouterr().out, type=list[Finding])
    assert ("refused" in {finding.verdict for finding in findings}) == (code == 2)


def test_a_person_gets_one_line_a_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--state", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if "store.synchronous" in line and "ok" in line and "FULL" in line]) == 1
