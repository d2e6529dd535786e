"""`make dev-cluster` runs what can be run here, prints settings that hold, and leaves no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from gristmill.runtime.settings_sources import load_settings
from gristmill.testing.redis_server import RedisProcess
from tests.redis_servers import program_or_skip

SCRIPT = Path(__file__).parents[3] / "scripts" / "dev_cluster.py"


def test_servers_are_printed_with_their_settings_and_end_with_a_signal(tmp_path: Path) -> None:
    program_or_skip("valkey")
    # Without Java no broker can be started, which is said and left out.
    environment = {**os.environ, "PATH": str(Path(sys.executable).parent), "PYTHONUNBUFFERED": "1"}
    environment.pop("GRISTMILL_TEST_KAFKA", None)
    process = subprocess.Popen(
        [sys.executable, SCRIPT, "--folder", tmp_path],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    lines: list[str] = []
    while not lines or not lines[-1].startswith("Ctrl-C"):
        line = process.stdout.readline()
        assert line, "it ended before everything was up"
        lines.append(line)
    try:
        file = tmp_path / "gristmill.toml"
        file.write_text("".join(lines[lines.index("[log]\n") :]).partition("\n\n")[0], encoding="utf-8")
        log = load_settings(file=file, env={}).settings.log
        assert log.backend == "redis"
        server = RedisProcess(tmp_path / "unused", port=int(log.url.rpartition(":")[2]))
        assert server.say("PING") == b"+PONG\r\n"
    finally:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Kafka: left out: no broker can be started: java is missing" in said
    pid = int(next(line for line in lines if line.startswith("Redis: process")).split()[-1])
    assert not Path(f"/proc/{pid}").exists()
