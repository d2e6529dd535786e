"""A Kafka broker of one's own on free ports of the loopback, with a folder of its own; ended by its pid.

`scripts/kafka.sh` fetches Apache Kafka once and starts it; Java and Maven have to be there. `GRISTMILL_TEST_KAFKA`
names brokers that run already and are used instead.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import closing
from pathlib import Path

from gristmill.domain.errors import Unavailable

__all__ = ["KafkaBroker", "missing_for_kafka"]

READY_WITHIN_S = 110.0
"""Fetching included; below what a test may take."""

LOOK_AGAIN_S = 0.1
STOPPED_WITHIN_S = 30.0
SCRIPT = Path(__file__).parents[3] / "scripts" / "kafka.sh"
JARS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gristmill" / "kafka-4.1.0" / ".complete"


def missing_for_kafka() -> str:
    """Return what keeps a broker from being started here, empty if nothing does."""
    if os.environ.get("GRISTMILL_TEST_KAFKA"):
        return ""
    if shutil.which("java") is None:
        return "no broker can be started: java is missing (Debian: apt-get install -y openjdk-17-jre-headless)"
    if not JARS.exists() and "GRISTMILL_KAFKA_JARS" not in os.environ and shutil.which("mvn") is None:
        return "no broker can be fetched: mvn is missing (Debian: apt-get install -y maven)"
    return "" if SCRIPT.exists() else f"no broker can be started: {SCRIPT} is missing"


class KafkaBroker:
    """A broker that is started and stopped, or killed, as often as a test likes; its data stay.

    Args:
        folder: gets the data.
        port: where it listens, its controller one above; 0 takes free ones.
    """

    def __init__(self, folder: Path, *, port: int = 0) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.port, self._controller_port = (port, port + 1) if port else _free_ports(2)
        self._advertised_port = self.port

    @property
    def address(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Its process; 0 where it does not run."""
        return self._process.pid if self._process is not None else 0

    def advertise(self, port: int) -> None:
        """Send clients to this port of the loopback, a proxy in front of the broker, from the next start on."""
        self._advertised_port = port

    def start(self) -> None:
        """Start it and wait until it answers.

        Raises:
            Unavailable: it does not; the text holds what it said.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        argv = [str(SCRIPT), "run", str(self._folder), str(self.port), str(self._controller_port)]
        environment = {**os.environ, "KAFKA_ADVERTISED_PORT": str(self._advertised_port)}
        said = self._folder / "said.txt"
        with said.open("wb") as output:
            self._process = subprocess.Popen(argv, stdout=output, stderr=output, env=environment)
        deadline = time.monotonic() + READY_WITHIN_S
        while not _answers(self.port):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                text = said.read_text(errors="replace")[-2_000:]
                raise Unavailable("the broker does not start", value=text, advice="see the text")
            time.sleep(LOOK_AGAIN_S)  # noqa: TID251 - another process is waited for

    def stop(self) -> None:
        """End it in order."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(how)
        try:
            process.wait(STOPPED_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [int(one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _answers(port: int) -> bool:
    with closing(socket.socket()) as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
