"""Gets the bytes behind a reference: over guarded HTTP, out of the reference itself, or from one folder."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes

import msgspec

from gristmill.domain.errors import Unavailable
from gristmill.ports.clock import Clock
from gristmill.ports.egress import Answer, Egress, Refused
from gristmill.ports.media import Fetched, Missing

__all__ = ["FetchLimits", "GuardedFetcher"]

ABSENT = frozenset({401, 403, 404, 410})
"""The server says that there is nothing for us; asking again would not help."""

DATA_SCHEME = "data:"
FILE_SCHEME = "file:"


class FetchLimits(msgspec.Struct, frozen=True):
    """Bounds of one fetch.

    Attributes:
        bodies: held at once; with `bytes_max` they bound the memory for what was fetched and not yet decoded.
        attempts, wait_ms: of one reference, and the pause between them.
    """

    bytes_max: int = 20 * 1024 * 1024
    bodies: int = 8
    attempts: int = 2
    wait_ms: int = 1_000


class GuardedFetcher:
    """`MediaFetcher` over an `Egress`.

    Args:
        folder: where `file:` references may point to; None for nowhere.
    """

    def __init__(
        self, egress: Egress, *, clock: Clock, folder: Path | None = None, limits: FetchLimits | None = None
    ) -> None:
        self._egress = egress
        self._clock = clock
        self._folder = None if folder is None else folder.resolve()
        self._limits = limits or FetchLimits()
        self._permits = asyncio.Semaphore(self._limits.bodies)

    @asynccontextmanager
    async def open(self, reference: str) -> AsyncIterator[Fetched | Missing]:
        """Fetch for the length of a block; see `ports.media.MediaFetcher`."""
        async with self._permits:
            yield await self._fetch(reference)

    async def _fetch(self, reference: str) -> Fetched | Missing:
        scheme = reference[: len(DATA_SCHEME)].lower()
        if scheme == DATA_SCHEME:
            return self._decode(reference[len(DATA_SCHEME) :])
        if scheme == FILE_SCHEME:
            return await asyncio.to_thread(self._read_file, reference[len(FILE_SCHEME) :])
        return await self._download(reference)

    async def _download(self, url: str) -> Fetched | Missing:
        attempt = 1
        while True:
            try:
                return _judge(await self._egress.get(url, bytes_max=self._limits.bytes_max))
            except Unavailable:
                if attempt >= self._limits.attempts:
                    raise
            attempt += 1
            await self._clock.sleep_ms(self._limits.wait_ms)

    def _decode(self, text: str) -> Fetched | Missing:
        """Decode what stands behind `data:`: a type, perhaps `;base64`, a comma, the data."""
        head, comma, data = text.partition(",")
        if not comma:
            return Missing("bad_reference", "data URL without a comma")
        # An escaped byte takes three letters.
        if len(data) > self._limits.bytes_max * 3:
            return self._too_large()
        try:
            body = _decode_base64(data) if head.lower().rstrip().endswith(";base64") else unquote_to_bytes(data)
        except (binascii.Error, ValueError):
            return Missing("bad_reference", "data URL with broken base64")
        return Fetched(body) if len(body) <= self._limits.bytes_max else self._too_large()

    def _read_file(self, text: str) -> Fetched | Missing:
        if self._folder is None:
            return Missing("bad_reference", "files are not read; a folder for them is not set")
        try:
            path = (self._folder / unquote(text.removeprefix("//")).lstrip("/")).resolve()
            if not path.is_relative_to(self._folder):
                return Missing("bad_reference", "leads out of the folder for files")
            if not path.is_file():
                return Missing("absent", "no such file")
            if path.stat().st_size > self._limits.bytes_max:
                return self._too_large()
            return Fetched(path.read_bytes(), path.name)
        except (OSError, ValueError) as error:
            return Missing("bad_reference", f"{type(error).__name__}")

    def _too_large(self) -> Missing:
        return Missing("too_large", f"more than {self._limits.bytes_max} bytes")


def _decode_base64(data: str) -> bytes:
    return base64.b64decode("".join(unquote(data).split()), validate=True)


def _judge(answer: Answer | Refused) -> Fetched | Missing:
    """Return what an answer means.

    Raises:
        Unavailable: a status that may be another one next time.
    """
    if isinstance(answer, Refused):
        return Missing(answer.reason, answer.detail)
    if answer.status in ABSENT:
        return Missing("absent", f"status {answer.status}")
    if answer.status >= 300:
        raise Unavailable("media server answered with an error", value=f"{answer.status} for {answer.url[:200]}")
    return Fetched(answer.body, answer.url)
