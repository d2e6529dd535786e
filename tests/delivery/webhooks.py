"""A receiver of webhooks on loopback, in a process or thread of the test."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class WebhookServer:
    """Checks signatures as a receiver would, and keeps the newest message of each item.

    Attributes:
        headers: sent with each answer.
        answer: decides the status of each request by its number, from 1.
    """

    def __init__(self, answer: Callable[[int], int] = lambda number: 200) -> None:
        self.answer = answer
        self.secret = ""
        self.headers: dict[str, str] = {}
        self.requests = 0
        self.bad_signatures = 0
        self.ids: list[str] = []
        self.got: list[dict[str, Any]] = []
        self.newest: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                status = outer._take(dict(self.headers.items()), body)
                self.send_response(status)
                for name, value in outer.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> WebhookServer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def authority(self) -> str:
        """Host and port, as an allow-list names them."""
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def url(self) -> str:
        """Where it takes webhooks."""
        return f"http://{self.authority}/hook"

    def _take(self, headers: dict[str, str], body: bytes) -> int:
        with self._lock:
            self.requests += 1
            if self.secret and not is_signed(self.secret, headers, body):
                self.bad_signatures += 1
            status = self.answer(self.requests)
            if status < 300:
                self.ids.append(headers["webhook-id"])
                told = json.loads(body)
                for event in told if isinstance(told, list) else [told]:
                    self.got.append(event)
                    data = event["data"]
                    if (
                        data["point"] != "test"
                        and data["position"] > self.newest.get(data["item_id"], {"position": -1})["position"]
                    ):
                        self.newest[data["item_id"]] = data
            return status


def is_signed(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """Whether one of the signatures of a request is that of the secret; written from the specification alone."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(secret.split("_", 1)[1])
    wanted = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(one == f"v1,{wanted}" for one in headers["webhook-signature"].split(" "))
