"""Runs the servers that logs and outboxes can live on, on loopback, until Ctrl-C; prints what uses each.

    dev_cluster.py [--folder FOLDER]

Data of Redis and Kafka stay in the folder (build/dev-cluster) from one time to the next, their ports too where they are
free; PostgreSQL begins anew each time. What cannot be started here is said and left out.
"""

from __future__ import annotations

import argparse
import signal
import socket
import sys
from contextlib import ExitStack
from pathlib import Path

from gristmill.domain.errors import GristmillError
from gristmill.testing.kafka_broker import KafkaBroker, missing_for_kafka
from gristmill.testing.postgres_server import INSTALL as POSTGRES_INSTALL
from gristmill.testing.postgres_server import PostgresProcess, find_postgres
from gristmill.testing.redis_server import INSTALL, RedisProcess, find_servers

REDIS_PORT = 16_379
KAFKA_PORT = 19_092
"""Of the broker; its controller has the next one."""


def main() -> int:
    """Start what can be started, wait for a signal, stop it again; 1 where nothing could be started."""
    parser = argparse.ArgumentParser(description="Run the servers that a log can live on, until Ctrl-C.")
    parser.add_argument("--folder", type=Path, default=Path("build/dev-cluster"), help="keeps their data")
    folder = parser.parse_args().folder.absolute()
    signals = {signal.SIGINT, signal.SIGTERM}
    with ExitStack() as started:
        starts = (_start_redis, _start_kafka, _start_postgres)
        texts = [text for start in starts if (text := start(folder, started))]
        if not texts:
            print("nothing could be started", file=sys.stderr)
            return 1
        # Not before: servers would inherit it, and never end when asked to.
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        print("\nOne [log] is a gristmill.toml; `gristmill doctor` says what it is worth.\n")
        print(*texts, "Ctrl-C ends all of them.", sep="\n\n", flush=True)
        signal.sigwait(signals)
        print("stopping", flush=True)
    return 0


def _start_redis(folder: Path, started: ExitStack) -> str:
    if not find_servers():
        return _leave_out("Redis", INSTALL)
    process = RedisProcess(folder / "redis", port=_free_or_any(REDIS_PORT))
    try:
        process.start()
    except GristmillError as error:
        return _leave_out("Redis", str(error))
    started.callback(process.stop)
    print(f"Redis: process {process.pid}", flush=True)
    return f'[log]\nbackend = "redis"\nurl = "{process.url}"'


def _start_kafka(folder: Path, started: ExitStack) -> str:
    if reason := missing_for_kafka():
        return _leave_out("Kafka", reason)
    print("Kafka: starting; the first time it is fetched (54 MB)", flush=True)
    broker = KafkaBroker(folder / "kafka", port=_free_or_any(KAFKA_PORT, KAFKA_PORT + 1))
    try:
        broker.start()
    except GristmillError as error:
        return _leave_out("Kafka", str(error))
    started.callback(broker.stop)
    print(f"Kafka: process {broker.pid}", flush=True)
    return f'[log]\nbackend = "kafka"\nbrokers = "{broker.address}"'


def _start_postgres(_: Path, started: ExitStack) -> str:
    if not find_postgres():
        return _leave_out("PostgreSQL", POSTGRES_INSTALL)
    process = PostgresProcess()
    started.callback(process.remove)
    try:
        process.start()
    except GristmillError as error:
        return _leave_out("PostgreSQL", str(error))
    print("PostgreSQL: started", flush=True)
    return f'# No setting names a database; for gristmill.adapters.postgres:\n# PostgresTarget("{process.url}")'


def _leave_out(name: str, reason: str) -> str:
    print(f"{name}: left out: {reason}", file=sys.stderr, flush=True)
    return ""


def _free_or_any(*ports: int) -> int:
    """Return the first of these ports if all are free, else 0, which means any."""
    for port in ports:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return 0
    return ports[0]


if __name__ == "__main__":
    sys.exit(main())
