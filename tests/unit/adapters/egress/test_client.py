"""GET through the guard, against a server on loopback that the allow-list names."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from gristmill.adapters.egress import AddressPolicy, EgressMetrics, GuardedEgress
from gristmill.adapters.egress.client import REDIRECTS_MAX, EgressLimits, resolve_host
from gristmill.domain.errors import Unavailable
from gristmill.ports.egress import Answer, Refused
from tests.media_server import MediaServer, answer

BYTES_MAX = 1_000


class Names:
    """A name server: host -> answers in turn, the last one again and again."""

    def __init__(self, **answers: list[Sequence[str]]) -> None:
        self._answers = {host.replace("_", "."): given for host, given in answers.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if host not in self._answers:
            raise OSError("no such host")
        given = self._answers[host]
        return given.pop(0) if len(given) > 1 else given[0]


class Guarded:
    """An egress with what it counted."""

    def __init__(self, *allow: str, names: Names | None = None, total_s: float = 20.0) -> None:
        self.registry = CollectorRegistry()
        self.egress = GuardedEgress(
            AddressPolicy(allow),
            metrics=EgressMetrics(self.registry),
            limits=EgressLimits(connect_s=5.0, total_s=total_s),
            resolve=names,
        )

    async def get(self, url: str) -> Answer | Refused:
        return await self.egress.get(url, bytes_max=BYTES_MAX)

    def count(self, outcome: str) -> float:
        return self.registry.get_sample_value("gristmill_egress_ended_total", {"outcome": outcome}) or 0.0


async def test_a_body_comes_back_with_its_address() -> None:
    async with MediaServer({"/a?x=1": [answer(b"bytes")]}) as server:
        guarded = Guarded(server.authority)
        assert await guarded.get(server.url("/a?x=1#top")) == Answer(server.url("/a?x=1"), 200, b"bytes")
        assert guarded.count("ok") == 1


async def test_a_request_carries_no_credentials_and_asks_for_plain_bytes() -> None:
    async with MediaServer({"/a": [answer()]}) as server:
        await Guarded(server.authority).get(server.url("/a"))
    head = server.heads[0].lower()
    assert f"host: {server.authority}" in head
    assert "accept-encoding: identity" in head
    assert "cookie" not in head
    assert "authorization" not in head


@pytest.mark.parametrize("status", ["404 Not Found", "500 Oops", "304 Not Modified"])
async def test_any_status_is_an_answer(status: str) -> None:
    async with MediaServer({"/a": [answer(b"page", status=status)]}) as server:
        assert await Guarded(server.authority).get(server.url("/a")) == Answer(server.url("/a"), int(status[:3]), b"")


async def test_redirects_are_followed_relative_ones_too() -> None:
    routes = {
        "/a": [answer(status="302 Found", headers="Location: /b/c\r\n")],
        "/b/c": [answer(status="307 Temporary Redirect", headers="Location: d\r\n")],
        "/b/d": [answer(b"found")],
    }
    async with MediaServer(routes) as server:
        assert await Guarded(server.authority).get(server.url("/a")) == Answer(server.url("/b/d"), 200, b"found")


async def test_redirects_have_an_end() -> None:
    async with MediaServer({"/a": [answer(status="302 Found", headers="Location: /a\r\n")]}) as server:
        guarded = Guarded(server.authority)
        found = await guarded.get(server.url("/a"))
        assert isinstance(found, Refused)
        assert found.reason == "too_many_redirects"
        assert len(server.asked) == REDIRECTS_MAX + 1


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("http://127.0.0.1/", "blocked_address"),
        ("http://127.0.0.1:1/", "blocked_port"),
        ("http://169.254.169.254/latest/meta-data", "blocked_address"),
        ("//10.0.0.1/", "blocked_address"),
        ("http://[::1]/", "blocked_address"),
        ("http://[::ffff:127.0.0.1]/", "blocked_address"),
        ("http://2130706433/", "bad_url"),
        ("http://user:pass@example.com/", "bad_url"),
        ("file:///etc/passwd", "bad_url"),
        ("gopher://127.0.0.1:6379/_FLUSHALL", "bad_url"),
        ("http://inner.example/", "blocked_address"),
    ],
)
async def test_a_redirect_is_judged_like_the_first_address(location: str, reason: str) -> None:
    names = Names(inner_example=[["192.168.0.7"]])
    async with MediaServer({"/a": [answer(status="302 Found", headers=f"Location: {location}\r\n")]}) as server:
        guarded = Guarded(server.authority, names=names)
        found = await guarded.get(server.url("/a"))
        assert isinstance(found, Refused)
        assert (found.reason, guarded.count(reason)) == (reason, 1)
        assert server.asked == ["/a"]


async def test_an_address_is_resolved_once_and_connected_to_as_it_was_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    connected: list[str] = []

    async def refuse(host: str, port: int, **_: object) -> None:
        connected.append(host)
        raise ConnectionRefusedError("not here")

    monkeypatch.setattr(asyncio, "open_connection", refuse)
    names = Names(rebound_example=[["8.8.8.8", "8.8.4.4"], ["127.0.0.1"]])
    with pytest.raises(Unavailable):
        await Guarded(names=names).get("http://rebound.example/")
    assert connected == ["8.8.8.8", "8.8.4.4"]
    assert names.asked == ["rebound.example"]


async def test_a_name_that_turns_inwards_is_refused_when_it_does() -> None:
    names = Names(rebound_example=[["127.0.0.1"]])
    async with MediaServer({"/a": [answer(b"secret")]}) as server:
        guarded = Guarded("other.example", names=names)
        found = await guarded.get(f"http://rebound.example:{server.port}/a")
        assert isinstance(found, Refused)
        assert found.reason == "blocked_port"
        found = await guarded.get("http://rebound.example/a")
        assert isinstance(found, Refused)
        assert found.reason == "blocked_address"
        assert server.asked == []


async def test_a_body_above_the_cap_is_refused_by_its_announcement() -> None:
    async with MediaServer({"/a": [b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n"]}) as server:
        found = await Guarded(server.authority).get(server.url("/a"))
    assert isinstance(found, Refused)
    assert found.reason == "too_large"


async def test_a_body_above_the_cap_is_refused_while_it_comes() -> None:
    endless = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"200\r\n" + b"x" * 512 + b"\r\n"
    async with MediaServer({"/a": [endless + b"200\r\n" + b"x" * 512 + b"\r\n"]}) as server:
        found = await Guarded(server.authority).get(server.url("/a"))
    assert isinstance(found, Refused)
    assert found.reason == "too_large"


@pytest.mark.parametrize(
    "said",
    [
        b"220 mail.example ESMTP\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 20,
        b"\0",
    ],
)
async def test_a_broken_answer_is_no_answer(said: bytes) -> None:
    async with MediaServer({"/a": [said]}) as server:
        guarded = Guarded(server.authority)
        with pytest.raises(Unavailable, match="cannot fetch"):
            await guarded.get(server.url("/a"))
        assert guarded.count("unavailable") == 1


async def test_silence_has_an_end() -> None:
    async with MediaServer({"/a": [b""]}) as server:
        with pytest.raises(Unavailable, match="TimeoutError"):
            await Guarded(server.authority, total_s=0.2).get(server.url("/a"))


async def test_a_host_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="no such host"):
        await Guarded(names=Names()).get("http://gone.example/")


async def test_a_certificate_that_nobody_signed_is_refused(tmp_path: Path) -> None:
    async with MediaServer({"/a": [answer(b"secret")]}, tls=make_tls(tmp_path)) as server:
        with pytest.raises(Unavailable, match="certificate verify failed"):
            await Guarded(server.authority).get(f"https://{server.authority}/a")
        assert server.asked == []


async def test_the_system_resolves_names() -> None:
    assert "127.0.0.1" in await resolve_host("127.0.0.1", 80)


def make_tls(folder: Path) -> ssl.SSLContext:
    certificate, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    try:
        subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs openssl to make a certificate: apt-get install openssl")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
