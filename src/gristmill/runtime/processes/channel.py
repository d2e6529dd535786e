"""What main and a child say to each other over a pair of sockets. Its end tells each that the other is gone.

main  ── Begin ──▶ child     what to be
      ◀─ Started / Refused   working, or why not
      ── Probe ──▶ ◀─ Probed asked by number, so that a late answer is known
      ── Drain ──▶ ◀─ Drained
      ── Halt ───▶           stop within the grace, then exit
"""

from __future__ import annotations

import asyncio
import socket

import msgspec

from gristmill.runtime.group.health_core import Vitals
from gristmill.runtime.spec import GroupSpec

__all__ = ["Begin", "Channel", "Drain", "Drained", "Halt", "Probe", "Probed", "Refused", "Started"]

LENGTH_BYTES = 4
MESSAGE_BYTES_MAX = 16 * 1024 * 1024


class Begin(msgspec.Struct, frozen=True, tag="begin"):
    """First message to a child: its role (`dispatcher` or `engine`) and its name, such as `engine-2`."""

    role: str
    name: str
    spec: GroupSpec


class Drain(msgspec.Struct, frozen=True, tag="drain"):
    """Take nothing new; say `Drained` once nothing is under way."""


class Halt(msgspec.Struct, frozen=True, tag="halt"):
    """Stop within `grace_ms` and exit."""

    grace_ms: int


class Probe(msgspec.Struct, frozen=True, tag="probe"):
    """Say how you are."""

    number: int


class Started(msgspec.Struct, frozen=True, tag="started"):
    """The child does its work."""


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """The child cannot start; `text` says why, for a person."""

    text: str


class Drained(msgspec.Struct, frozen=True, tag="drained"):
    """Nothing is under way any more."""


class Probed(msgspec.Struct, frozen=True, tag="probed"):
    """How a child is; answers the `Probe` of that number."""

    number: int
    vitals: Vitals


Message = Begin | Drain | Halt | Probe | Started | Refused | Drained | Probed


class Channel:
    """One end of the pair."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._decoder = msgspec.msgpack.Decoder(Message)

    @classmethod
    async def open(cls, end: socket.socket) -> Channel:
        """Take over one socket of a pair."""
        return cls(*await asyncio.open_unix_connection(sock=end))

    async def send(self, message: Message) -> None:
        """Hand over a message; dropped without a word when the other end is gone."""
        body = msgspec.msgpack.encode(message)
        try:
            self._writer.write(len(body).to_bytes(LENGTH_BYTES, "big") + body)
            await self._writer.drain()
        except (ConnectionError, RuntimeError):
            return

    async def receive(self) -> Message | None:
        """Wait for the next message; None when the other end is gone."""
        try:
            length = int.from_bytes(await self._reader.readexactly(LENGTH_BYTES), "big")
            if length > MESSAGE_BYTES_MAX:
                return None
            return self._decoder.decode(await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    def close(self) -> None:
        """End it; safe twice."""
        self._writer.close()
