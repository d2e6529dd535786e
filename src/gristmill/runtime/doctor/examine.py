"""Looks at everything that an installation stands on: its disk, its host, and the servers that its settings name."""

from __future__ import annotations

import os
import resource
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from gristmill.adapters.local_host import NETWORK_FILESYSTEMS, find_filesystem, measure_disk
from gristmill.domain.errors import ConfigError, Unavailable
from gristmill.domain.upkeep.finding import Finding, first_refused
from gristmill.ports.clock import Clock
from gristmill.runtime.doctor.extras import examine_extras
from gristmill.runtime.doctor.host_core import (
    judge_clock,
    judge_filesystem,
    judge_open_files,
    judge_skew,
    judge_space,
    judge_synchronous,
    judge_syncs,
    judge_version,
)
from gristmill.runtime.folder import StateFolder
from gristmill.runtime.settings import Settings

__all__ = ["examine_all", "refuse_unfit_host"]

PYTHON_MIN = (3, 11)
SQLITE_MIN = (3, 51)


async def examine_all(settings: Settings, clock: Clock, *, outage_ms: int, database: str = "") -> list[Finding]:
    """Return one finding for each thing that is looked at. Nothing is changed and nothing is left behind.

    Args:
        outage_ms: the longest time for which a group may stand still.
        database: address of a PostgreSQL that is looked at too; empty for none.
    """
    return [
        *_examine_host(settings),
        *_examine_disk(settings, clock),
        *examine_extras(settings),
        *await _examine_log(settings, clock, outage_ms),
        *(await _reached("postgres", lambda: _examine_database(database, clock)) if database else []),
    ]


def refuse_unfit_host(settings: Settings) -> None:
    """Look at what costs no time before a group starts; the rest is refused where it is used.

    Raises:
        ConfigError: nothing can work here; the finding is named.
    """
    refused = first_refused(_examine_host(settings))
    if refused is not None:
        raise ConfigError(refused.check, value=refused.found, advice=refused.advice)


def _examine_host(settings: Settings) -> list[Finding]:
    from gristmill.adapters.sqlite.file.connection import read_version

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return [
        judge_version("python", sys.version_info[:3], PYTHON_MIN),
        judge_version("sqlite", read_version(), SQLITE_MIN),
        judge_open_files(sys.maxsize if limit == resource.RLIM_INFINITY else limit),
        judge_synchronous(settings.store.synchronous),
    ]


def _examine_disk(settings: Settings, clock: Clock) -> list[Finding]:
    folder = StateFolder(Path(settings.main.state_dir))
    place = _existing(folder.path)
    kind = find_filesystem(place)
    findings = [
        judge_filesystem(kind, is_network=kind in NETWORK_FILESYSTEMS),
        judge_space(shutil.disk_usage(place).free),
    ]
    try:
        times = measure_disk(place, now_us=clock.monotonic_us)
    except OSError as error:
        advice = f"{error.strerror or error}; choose another with --state DIR"
        return [*findings, Finding("state folder", "refused", str(place), advice)]
    return [
        *findings,
        judge_syncs("syncs of a growing file", times.growing_us),
        judge_syncs("syncs in place", times.in_place_us),
        judge_clock(drift_ms=times.drift_ms, behind_ms=_last_write_ms(folder) - times.wall_ms),
    ]


async def _examine_log(settings: Settings, clock: Clock, outage_ms: int) -> list[Finding]:
    match settings.log.backend:
        case "redis":
            from gristmill.runtime.log_apart import examine_server

            return await _reached("redis", lambda: examine_server(settings.log, clock))
        case "kafka":
            from gristmill.runtime.log_kafka import examine_brokers

            return await _reached("kafka", lambda: examine_brokers(settings.log, outage_ms=outage_ms))
        case _:
            return []


async def _examine_database(address: str, clock: Clock) -> list[Finding]:
    try:
        from gristmill.adapters.postgres import PostgresServer, PostgresTarget
    except ModuleNotFoundError as error:
        advice = "pip install 'gristmill[postgres]'"
        raise ConfigError("the client of PostgreSQL is not installed", advice=advice) from error
    before_ms = clock.now_ms()
    findings, database_ms = await PostgresServer(PostgresTarget(address)).examine()
    return [*findings, judge_skew("postgres", database_ms - (before_ms + clock.now_ms()) // 2)]


async def _reached(name: str, examine: Callable[[], Awaitable[list[Finding]]]) -> list[Finding]:
    """Return what a look at a server finds; that it cannot be looked at is a finding too."""
    try:
        return [Finding(f"{name} reachable", "ok", "yes"), *await examine()]
    except (ConfigError, Unavailable) as error:
        found = f"{error.thing}: {error.value}" if error.value is not None else error.thing
        return [Finding(f"{name} reachable", "refused", found, error.advice or "start the server, or mend [log]")]


def _existing(path: Path) -> Path:
    """Return a folder, or the nearest one above it that is there."""
    while not path.is_dir():
        path = path.parent
    return path


def _last_write_ms(folder: StateFolder) -> int:
    """Return when the store was last written, 0 where there is none."""
    files = [folder.store_file, folder.store_file.with_name(f"{folder.store_file.name}-wal")]
    return max((os.stat(file).st_mtime_ns // 1_000_000 for file in files if file.exists()), default=0)
