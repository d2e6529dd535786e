"""Reads bodies within their bound and decodes them, or says what is wrong with them."""

from __future__ import annotations

import asyncio
from typing import TypeVar

import msgspec

from gristmill.api.calls.call import Call
from gristmill.api.problems import Fault, ProblemRaised, problem

__all__ = ["JSON", "JSON_BYTES_MAX", "NDJSON", "check_text", "read_body", "read_json"]

T = TypeVar("T")

BODY_TIMEOUT_S = 30.0
CLOSING = {"Connection": "close"}

JSON = "application/json"
NDJSON = "application/x-ndjson"
JSON_BYTES_MAX = 2 * 1024 * 1024
"""A text of 1 MiB fits, escaped as badly as it can be in practice."""


async def read_body(call: Call, *, media_types: tuple[str, ...] = (JSON,), bytes_max: int = JSON_BYTES_MAX) -> bytes:
    """Return the whole body.

    Raises:
        ProblemRaised: `unsupported-media-type`; or `too-large`, told before the rest of the body is read.
    """
    media_type = call.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in media_types:
        raise problem("unsupported-media-type", f"{media_type[:64] or 'none'} instead of {' or '.join(media_types)}")
    stated = call.headers.get("content-length", "")
    if stated.isdecimal() and int(stated[:19]) > bytes_max:
        raise _too_large(bytes_max)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            async for part in call.body():
                size += len(part)
                if size > bytes_max:
                    raise _too_large(bytes_max)
                parts.append(part)
    except TimeoutError as error:
        raise problem("too-slow", f"not whole after {BODY_TIMEOUT_S:g} s", headers=CLOSING) from error
    return b"".join(parts)


async def read_json(call: Call, decoder: msgspec.json.Decoder[T]) -> T:
    """Return the body decoded.

    Raises:
        ProblemRaised: `validation`: not UTF-8, not JSON, too deep, or of another shape; and those of `read_body`.
    """
    raw = await read_body(call)
    try:
        raw.decode()
        return decoder.decode(raw)
    except UnicodeDecodeError as error:
        raise problem("validation", errors=[Fault("", f"byte {error.start} is not UTF-8")]) from error
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `")
        raise problem("validation", errors=[Fault(_to_pointer(place.rstrip("`")), message)]) from error
    except msgspec.DecodeError as error:
        raise problem("validation", errors=[Fault("", str(error))]) from error
    except RecursionError as error:
        raise problem("validation", errors=[Fault("", "nested too deeply")]) from error


def check_text(pointer: str, text: str) -> None:
    """Refuse a text that no store takes.

    Raises:
        ProblemRaised: `validation`: it holds NUL or half a surrogate pair.
    """
    if "\x00" in text:
        raise problem("validation", errors=[Fault(pointer, "holds the character NUL")])
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise problem("validation", errors=[Fault(pointer, "holds half a surrogate pair")]) from error


def _to_pointer(place: str) -> str:
    """Turn `$.item.tags[2]` into `/item/tags/2`."""
    return place.removeprefix("$").replace("[...]", "").replace("[", ".").replace("]", "").replace(".", "/")


def _too_large(bytes_max: int) -> ProblemRaised:
    return problem("too-large", f"the body is limited to {bytes_max} bytes", headers=CLOSING)
