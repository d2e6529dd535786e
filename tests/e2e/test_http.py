"""`gristmill up` over HTTP: what is published is processed whatever dies, and what is broken breaks nothing."""

import json
import os
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.commands import COMMAND, is_gone, put, run, wait_until

ENV = {"GRISTMILL_API__PORT": "0", "GRISTMILL_GRPC__PORT": "0"}
BROKEN_CONNECTIONS = 300
MEMORY_KIB_MAX = 60_000
"""By how much broken requests may make the main process grow."""


class Service:
    """A group that was started, and a token for it."""

    def __init__(self, process: subprocess.Popen[bytes], state: Path, token: str) -> None:
        self.process = process
        self.state = state
        self.token = token

    @property
    def url(self) -> str:
        return (self.state / "run" / "http.address").read_text(encoding="utf-8").strip()

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Return status and decoded answer."""
        content = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        told = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **headers}
        request = urllib.request.Request(self.url + path, content, told, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read() or b"null")

    def is_ready(self) -> bool:
        """Whether the group serves."""
        try:
            return self.call("GET", "/readyz")[0] == 200
        except OSError:
            return False

    def status_of(self, item_id: str) -> str:
        """Where an item stands."""
        return str(self.call("GET", f"/v1/items/{item_id}")[1]["status"])


@contextmanager
def serving(state: Path, token: str = "", **settings: str) -> Iterator[Service]:
    """Start a group with HTTP; the first start on a folder gives the token."""
    out = state.with_suffix(".out")
    with out.open("ab") as told:
        process = subprocess.Popen(
            [*COMMAND, "up", "--state", str(state)],
            stdin=subprocess.DEVNULL,
            stdout=told,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **ENV, **settings},
            start_new_session=True,
        )
    service = Service(process, state, token)
    try:
        wait_until(lambda: (state / "run" / "http.address").exists(), "an address")
        if not token:
            wait_until(lambda: b"admin token" in out.read_bytes(), "a token")
            service.token = re.findall(r"gm_\w+", out.read_text(encoding="utf-8"))[0]
        yield service
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        (state / "run" / "http.address").unlink(missing_ok=True)


@pytest.mark.parametrize("model", ["split", "single"])
def test_a_published_item_is_screened_and_a_stop_is_clean(tmp_path: Path, model: str) -> None:
    with serving(tmp_path / "state", GRISTMILL_MAIN__PROCESS_MODEL=model) as service:
        wait_until(service.is_ready, "ready")
        text = "Buy cheap followers now!!! Click https://spam.example/x and win $$$"
        status, published = service.call("POST", "/v1/items", {"id": "c-1", "text": text})
        assert status == 202
        wait_until(lambda: service.status_of(published["item_id"]) == "done", "screened")
        _, item = service.call("GET", f"/v1/items/{published['item_id']}")
        status, scored = service.call("POST", "/v1/score", {"item": {"text": text}})
        assert (status, scored["status"]) == (200, "done")
        assert {label["val"] for label in scored["labels"]} == {label["val"] for label in item["labels"]} != set()
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(timeout=30) == 0
        assert is_gone(service.process.pid)


@pytest.mark.slow
def test_a_kill_between_answer_and_processing_loses_nothing(tmp_path: Path) -> None:
    state = tmp_path / "state"
    answered: dict[str, str] = {}
    token = ""
    for start in range(2):
        # Nothing is processed before the kill: every engine waits at its first item.
        with serving(state, token, GRISTMILL_FAULT="claim.after:delay=600000") as service:
            token = service.token
            for number in range(20):
                input_id = f"r{start}-{number}"
                status, published = service.call("POST", "/v1/items", {"id": input_id, "text": f"text {input_id}"})
                assert status == 202
                answered[input_id] = published["item_id"]
            os.killpg(service.process.pid, signal.SIGKILL)
            service.process.wait()
            wait_until(lambda: is_gone(service.process.pid), "gone")
    with serving(state, token) as service:
        for input_id, item_id in answered.items():
            wait_until(lambda: service.status_of(item_id) == "done", f"{input_id} is processed")  # noqa: B023
            _, item = service.call("GET", f"/v1/items/{item_id}")
            assert (item["input_id"], item["text"]) == (input_id, f"text {input_id}")
            assert len(service.call("GET", f"/v1/items/{item_id}/runs")[1]["runs"]) == 1


def test_broken_connections_are_refused_and_cost_no_memory(tmp_path: Path) -> None:
    with serving(tmp_path / "state") as service:
        wait_until(service.is_ready, "ready")
        port = int(service.url.rpartition(":")[2])
        draw = Random(20_261_130)
        before_kib = memory_kib(service.process.pid)
        for _ in range(BROKEN_CONNECTIONS):
            break_in(port, draw)
        assert memory_kib(service.process.pid) - before_kib < MEMORY_KIB_MAX
        assert service.is_ready()
        assert service.call("POST", "/v1/items", {"text": "still there"})[0] == 202
        assert run("health", "--state", service.state).returncode == 0


async def test_tokens_are_created_listed_and_revoked(tmp_path: Path) -> None:
    state = tmp_path / "state"
    assert run("token", "create", "x", "--role", "viewer", "--state", state).returncode == 2
    await put(state, "t", ["a store is there now"])
    created = run("token", "create", "desk", "--role", "reviewer", "--state", state)
    token_id = created.stdout.split("_")[1]
    assert re.fullmatch(r"gm_[0-9a-f]{16}_[0-9a-f]{64}\n", created.stdout)
    listed = run("token", "ls", "--state", state).stdout
    assert token_id in listed
    assert created.stdout.strip() not in listed
    assert run("token", "revoke", token_id, "--state", state).returncode == 0
    assert run("token", "revoke", token_id, "--state", state).returncode == 2
    assert run("token", "create", "x", "--role", "king", "--state", state).returncode == 2


def break_in(port: int, draw: Random) -> None:
    """Open a connection, send something broken, and see it refused or closed."""
    noise = draw.randbytes(draw.choice([1, 100, 5_000]))
    attempts = [
        noise,
        b"GET / HTTP/1.1\r\n" + b"X: " + b"a" * 2_000_000,
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 50_000 + b"\r\n",
        b"POST /v1/items HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST /v1/items HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"POST /v1/items HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n" + noise,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + noise,
        b"GET /v1/items HTTP/9.9\r\n\r\n",
        b"GET /%00%ff HTTP/1.1\r\nHost: x\r\nAuthorization: " + noise.replace(b"\n", b"") + b"\r\n\r\n",
    ]
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection, suppress(OSError):
        connection.sendall(draw.choice(attempts))
        connection.shutdown(socket.SHUT_WR)
        answer = connection.recv(4_096)
        assert not answer or re.match(rb"HTTP/1\.1 4\d\d", answer), answer[:100]


def memory_kib(pid: int) -> int:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0])
