"""Remembers ids of records, so that a copy is recognised, and what the next try of a record has to know.

The first place at which a record with an id is tried is its owner. Whatever comes from another place with the same id
is a copy, and can go: the owner stands in the log until it has ended. Losing what is remembered costs repeated calls of
plans, which tell records by their id themselves.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Literal

import msgspec

from gristmill.engine.messages.core.envelope import Envelope
from gristmill.ports.cache import Cache

__all__ = ["Copies", "Standing"]


class Standing(msgspec.Struct, frozen=True):
    """What is remembered of an id.

    Attributes:
        origin: the place at which its record first stood.
        attempt: the highest try that was begun, as the record itself says it.
        spent: tries that do not count any more, since a person brought the record back from its dead letter.
        progress: outcomes of plans, of a record that waits where it stands.
        is_released: a person has it given up at its next try, so that its key goes on.
    """

    origin: str
    attempt: int
    spent: int = 0
    progress: dict[str, str] = {}
    is_released: bool = False


_decoder = msgspec.json.Decoder(Standing)
_encoder = msgspec.json.Encoder()


class Copies:
    """Which ids were seen, for `ttl_ms` from the first try."""

    def __init__(self, cache: Cache, *, ttl_ms: int) -> None:
        self._cache = cache
        self._ttl_ms = ttl_ms

    async def begin(self, envelope: Envelope, *, origin: str) -> Standing | Literal["copy", "left_over"]:
        """Note a try, and return what is known of the record; or why it is not to be tried."""
        mine = Standing(origin, envelope.attempt)
        key = _key_of(envelope.id, source=envelope.source, tenant=envelope.tenant)
        live = await self._cache.put_if_absent(key, _write(mine), ttl_ms=self._ttl_ms)
        known = mine if live is None else _decoder.decode(live)
        if known.origin != origin:
            return "copy"
        if known.attempt > envelope.attempt:
            return "left_over"
        if known.attempt < envelope.attempt:
            known = msgspec.structs.replace(known, attempt=envelope.attempt)
            await self.keep(envelope, known)
        return known

    async def keep(self, envelope: Envelope, standing: Standing, *, has_ended: bool = False) -> None:
        """Remember this for the next try; unless the record has ended, a release since this try began stays."""
        key = _key_of(envelope.id, source=envelope.source, tenant=envelope.tenant)
        if not has_ended and (live := await self._cache.get(key)) is not None:
            standing = msgspec.structs.replace(standing, is_released=_decoder.decode(live).is_released)
        await self._cache.put(key, _write(standing), ttl_ms=self._ttl_ms)

    async def release(self, id_: str, *, source: str, tenant: str) -> bool:
        """Have a record given up at its next try; False if it was never tried, or too long ago."""
        key = _key_of(id_, source=source, tenant=tenant)
        live = await self._cache.get(key)
        if live is None:
            return False
        released = msgspec.structs.replace(_decoder.decode(live), is_released=True)
        await self._cache.put(key, _write(released), ttl_ms=self._ttl_ms)
        return True


def _key_of(id_: str, *, source: str, tenant: str) -> str:
    name = "\0".join((tenant, source, id_))
    return f"message:{blake2b(name.encode(), digest_size=20).hexdigest()}"


def _write(standing: Standing) -> str:
    return _encoder.encode(standing).decode()
