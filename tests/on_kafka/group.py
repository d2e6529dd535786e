"""A group of processes whose log is on Kafka, for tests that hurt it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.kafka import KafkaLog
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.errors import Unavailable
from gristmill.domain.log import Lag
from gristmill.testing.crash.processes import descendants, kill_hard

DONE_WITHIN_S = 120.0
LOOK_AGAIN_S = 0.2


class KafkaGroup:
    """`gristmill up` over one topic and one plan of a flow file.

    Args:
        environment: goes before what the group is told otherwise.
    """

    def __init__(
        self,
        folder: Path,
        brokers: str,
        prefix: str,
        *,
        flow_file: Path,
        name: str,
        engines: int = 2,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._folder = folder
        self.topic = name
        self.group = f"{name}.{name}"
        self._environment: Mapping[str, str] = {
            **os.environ,
            "GRISTMILL_LOG__BACKEND": "kafka",
            "GRISTMILL_LOG__BROKERS": brokers,
            "GRISTMILL_LOG__TOPIC_PREFIX": prefix,
            "GRISTMILL_LOG__PARTITIONS": "2",
            "GRISTMILL_LOG__CLIENT": "session.timeout.ms=6000",
            "GRISTMILL_API__ENABLED": "false",
            "GRISTMILL_GRPC__ENABLED": "off",
            "GRISTMILL_FLOWS__ENABLED": name,
            "GRISTMILL_DISPATCHER__LEASE_MS": "3000",
            "GRISTMILL_DISPATCHER__MAX_IN_FLIGHT": "64",
            "GRISTMILL_DISPATCHER__RECOVERY_DELAY_S": "1",
            "GRISTMILL_DISPATCHER__RECOVERIES_MAX": "1",
            "GRISTMILL_DISPATCHER__MONITOR_INTERVAL_S": "1",
            **(environment or {}),
        }
        argv = [sys.executable, "-m", "gristmill", "up", "--topic", name, "--plan", name, "--engines", str(engines)]
        self._argv = [*argv, "--flow", str(flow_file), "--state", str(folder / "state")]
        self.process = self._start()

    def restart(self) -> None:
        """Start it again after it was killed."""
        self.process.wait()
        self.process = self._start()

    def stop(self) -> None:
        """End it in order."""
        family = [self.process.pid, *descendants(self.process.pid)]
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(40.0)
        except subprocess.TimeoutExpired:
            kill_hard(family)
            self.process.wait()
            raise

    async def until_left(self, log: KafkaLog, left: int, *, within_s: float = DONE_WITHIN_S) -> None:
        """Wait until so many records, or fewer, are not accepted."""
        deadline = time.monotonic() + within_s
        lag: Lag | None = None
        while lag is None or lag.undelivered + lag.in_flight + lag.waiting > left:
            assert self.process.poll() is None, "the group has ended"
            assert time.monotonic() < deadline, f"more than {left} records are left: {lag}"
            if lag is not None:
                await asyncio.sleep(LOOK_AGAIN_S)
            with suppress(Unavailable):
                lag = await log.lag(self.topic, self.group)

    async def counts(self) -> dict[str, int]:
        """Return how much the store holds."""
        path = self._folder / "state" / "gristmill.sqlite"
        store = SqliteStore.open(path, clock=SystemClock(), owner="audit:0:0", is_log_apart=True)
        try:
            return dict(await store.state.counts())
        finally:
            await store.close()

    def _start(self) -> subprocess.Popen[bytes]:
        with (self._folder / "group.log").open("ab") as said:
            return subprocess.Popen(
                self._argv, env=self._environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )
