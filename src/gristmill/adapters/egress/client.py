"""GET and POST over HTTP/1.1 with every address checked before it is connected to.

For each hop: parse, resolve once, judge all addresses, connect to one of those that were judged (so a name server that
answers differently the second time is never asked again), verify TLS against the name, read at most so many bytes. A
connection serves one hop: pictures come from many hosts, and a kept connection would outlive its check. A POST is one
hop: whoever signed its body has named one receiver.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cached_property
from importlib import import_module
from typing import Any
from urllib.parse import urljoin

import msgspec
from prometheus_client import REGISTRY, CollectorRegistry, Counter

from gristmill.adapters.egress.address_core import AddressPolicy
from gristmill.adapters.egress.url_core import Target, UrlRefused, parse_url
from gristmill.domain.errors import Unavailable
from gristmill.ports.egress import SENT_BODY_BYTES_MAX, Answer, Refused, Sent

__all__ = ["EgressLimits", "EgressMetrics", "GuardedEgress", "Resolve", "resolve_host"]

REDIRECTS_MAX = 5
"""As many as content networks need; browsers allow 20."""

ADDRESSES_TRIED_MAX = 4
"""Of one host, until one accepts."""

READ_BYTES = 65_536
BODY_WAIT_S = 0.2
"""For what a receiver says beside its status; nobody else is held up for it."""

RETRY_AFTER_DIGITS_MAX = 6
INTERIM_ANSWERS_MAX = 8
"""Answers of status 1xx before the real one."""

REDIRECTS = frozenset({301, 302, 303, 307, 308})
HEADERS_SENT = (("accept", "*/*"), ("accept-encoding", "identity"), ("connection", "close"))
USER_AGENT = "gristmill"

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port to addresses as text. May raise OSError."""


class EgressLimits(msgspec.Struct, frozen=True):
    """Bounds of one `get`, all hops together, but for `connect_s`, which is for each connection."""

    connect_s: float = 30.0
    total_s: float = 60.0


class EgressMetrics:
    """Counts outgoing fetches by how they ended: `ok`, `unavailable`, or the reason of a refusal."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self.ended = Counter("gristmill_egress_ended", "Outgoing fetches, by outcome.", ["outcome"], registry=registry)


class GuardedEgress:
    """`Egress` with h11 over asyncio's streams. Nothing is imported or loaded before the first fetch.

    Args:
        resolve: asks the system by default.
    """

    def __init__(
        self,
        policy: AddressPolicy,
        *,
        metrics: EgressMetrics,
        limits: EgressLimits | None = None,
        resolve: Resolve | None = None,
    ) -> None:
        self._policy = policy
        self._metrics = metrics
        self._limits = limits or EgressLimits()
        self._resolve = resolve or resolve_host

    async def get(self, url: str, *, bytes_max: int) -> Answer | Refused:
        """Fetch with GET; see `ports.egress.Egress`."""
        try:
            async with asyncio.timeout(self._limits.total_s):
                answer = await self._follow(url, bytes_max)
        except (OSError, TimeoutError, self._protocol_error) as error:
            self._metrics.ended.labels("unavailable").inc()
            raise Unavailable("cannot fetch", value=url[:200], advice=_tell(error)) from error
        outcome = answer.reason if isinstance(answer, Refused) else "ok"
        self._metrics.ended.labels(outcome).inc()
        return answer

    async def post(self, url: str, body: bytes, *, headers: Mapping[str, str]) -> Sent | Refused:
        """Send with POST; see `ports.egress.Sender`."""
        try:
            async with asyncio.timeout(self._limits.total_s):
                answer = await self._send(url, body, headers)
        except (OSError, TimeoutError, self._protocol_error) as error:
            self._metrics.ended.labels("unavailable").inc()
            # Without the address: its path may hold a secret of the receiver.
            raise Unavailable("no answer", advice=_tell(error)) from error
        self._metrics.ended.labels(answer.reason if isinstance(answer, Refused) else "ok").inc()
        return answer

    async def _send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Sent | Refused:
        try:
            target = parse_url(url)
        except UrlRefused as error:
            return Refused("bad_url", str(error))
        addresses = await self._look_up(target)
        refused = self._policy.judge(target, addresses)
        if refused is not None:
            return refused
        async with self._connect(target, addresses[:ADDRESSES_TRIED_MAX]) as (reader, writer):
            exchange = _Exchange(self._h11, reader)
            writer.write(exchange.ask(target, body=body, headers=headers))
            await writer.drain()
            return await exchange.read_status()

    async def _look_up(self, target: Target) -> Sequence[str]:
        return [target.host] if target.is_address else list(await self._resolve(target.host, target.port))

    async def _follow(self, url: str, bytes_max: int) -> Answer | Refused:
        for _ in range(REDIRECTS_MAX + 1):
            try:
                target = parse_url(url)
            except UrlRefused as error:
                return Refused("bad_url", str(error))
            answer = await self._hop(target, bytes_max)
            if not isinstance(answer, str):
                return answer
            url = urljoin(target.url, answer)
        return Refused("too_many_redirects", f"more than {REDIRECTS_MAX}")

    async def _hop(self, target: Target, bytes_max: int) -> Answer | Refused | str:
        """Return the answer of one hop, or the address that it redirects to."""
        addresses = await self._look_up(target)
        refused = self._policy.judge(target, addresses)
        if refused is not None:
            return refused
        async with self._connect(target, addresses[:ADDRESSES_TRIED_MAX]) as (reader, writer):
            exchange = _Exchange(self._h11, reader)
            writer.write(exchange.ask(target))
            await writer.drain()
            return await exchange.read(target, bytes_max)

    @asynccontextmanager
    async def _connect(
        self, target: Target, addresses: Sequence[str]
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        tls, name = (self._tls, target.host) if target.scheme == "https" else (None, None)
        failure: OSError | None = None
        for address in addresses:
            try:
                async with asyncio.timeout(self._limits.connect_s):
                    reader, writer = await asyncio.open_connection(address, target.port, ssl=tls, server_hostname=name)
            except OSError as error:  # Also a time-out.
                failure = error
                continue
            try:
                yield reader, writer
            finally:
                writer.transport.abort()
            return
        raise failure or OSError("no address")

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    @cached_property
    def _h11(self) -> Any:
        return import_module("h11")

    @property
    def _protocol_error(self) -> type[Exception]:
        error: type[Exception] = self._h11.ProtocolError
        return error


class _Exchange:
    """One request and its answer."""

    def __init__(self, h11: Any, reader: asyncio.StreamReader) -> None:
        self._h11 = h11
        self._reader = reader
        self._connection = h11.Connection(h11.CLIENT)

    def ask(self, target: Target, *, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
        lines = [("host", target.authority), ("user-agent", USER_AGENT), *HEADERS_SENT, *(headers or {}).items()]
        if body is None:
            request, parts = self._h11.Request(method="GET", target=target.path, headers=lines), []
        else:
            lines.append(("content-length", str(len(body))))
            request = self._h11.Request(method="POST", target=target.path, headers=lines)
            parts = [self._h11.Data(data=body)]
        return b"".join(self._connection.send(part) for part in (request, *parts, self._h11.EndOfMessage()))

    async def read_status(self) -> Sent:
        head = await self._read_head()
        asked = next((value for name, value in head.headers if name == b"retry-after"), b"").strip()
        # A date is left to the schedule: whose clock it is meant by is not known.
        is_number = asked.isdigit() and len(asked) <= RETRY_AFTER_DIGITS_MAX
        return Sent(head.status_code, float(asked) if is_number else 0.0, await self._read_beginning())

    async def _read_beginning(self) -> bytes:
        """Return what comes of a body at once; whatever goes wrong there, the status was told already."""
        body = bytearray()
        with suppress(OSError, TimeoutError, self._h11.ProtocolError):
            async with asyncio.timeout(BODY_WAIT_S):
                while len(body) < SENT_BODY_BYTES_MAX and isinstance(event := await self._next(), self._h11.Data):
                    body += event.data
        return bytes(body[:SENT_BODY_BYTES_MAX])

    async def read(self, target: Target, bytes_max: int) -> Answer | Refused | str:
        head = await self._read_head()
        headers: dict[str, str] = {name.decode("ascii"): value.decode("latin-1") for name, value in head.headers}
        if head.status_code in REDIRECTS and "location" in headers:
            return headers["location"]
        if head.status_code >= 300:
            return Answer(target.url, head.status_code, b"")
        too_large = Refused("too_large", f"more than {bytes_max} bytes")
        announced = headers.get("content-length", "")
        if announced.isdigit() and int(announced) > bytes_max:
            return too_large
        body = bytearray()
        while isinstance(event := await self._next(), self._h11.Data):
            body += event.data
            if len(body) > bytes_max:
                return too_large
        return Answer(target.url, head.status_code, bytes(body))

    async def _read_head(self) -> Any:
        for _ in range(INTERIM_ANSWERS_MAX + 1):
            event = await self._next()
            if isinstance(event, self._h11.Response):
                return event
        raise OSError("the server goes on announcing an answer")

    async def _next(self) -> Any:
        while (event := self._connection.next_event()) is self._h11.NEED_DATA:
            self._connection.receive_data(await self._reader.read(READ_BYTES))
        return event


async def resolve_host(host: str, port: int) -> list[str]:
    """Return the addresses of a host, as the system knows them."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(entry[4][0]) for entry in found]
    return list(dict.fromkeys(addresses))


def _tell(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:200].rstrip(": ")
