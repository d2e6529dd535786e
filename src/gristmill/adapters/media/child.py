"""The child process that decodes pictures: `python -m gristmill.adapters.media.child`.

Reads requests from standard input and answers on standard output, each a msgpack value behind its length (4 bytes, big
endian). It ends when its input does, so it cannot outlive its parent for longer than one picture takes, and a picture
cannot take longer than its share of CPU. It may not write files and holds no secrets.
"""

from __future__ import annotations

import re
import resource
import signal
import struct
import sys
from typing import BinaryIO

import msgspec

from gristmill.ports.media import Missing, Picture

__all__ = ["FRAME_HEADER", "Request", "main"]

FRAME_HEADER = struct.Struct(">I")
_PLACE = re.compile(r" at 0x[0-9a-f]+")
COST_REASON = "takes too much memory"


class Request(msgspec.Struct, frozen=True, array_like=True):
    """One picture to decode."""

    body: bytes
    tile_side: int


def main(memory_bytes: int, cpu_s: int) -> None:
    """Answer requests until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Meant for the parent, which closes the pipe when it is done.
    _limit(memory_bytes)
    from gristmill.adapters.media.decoding import read_picture

    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    decoder = msgspec.msgpack.Decoder(Request)
    _send(answers, Missing("absent", "ready"))
    while (payload := _receive(requests)) is not None:
        _limit_cpu(cpu_s)
        request = decoder.decode(payload)
        try:
            answer = read_picture(request.body, tile_side=request.tile_side)
        except MemoryError:
            answer = Missing("too_costly", COST_REASON)
        except Exception as error:
            # Where something lay in memory differs from run to run, and equal bytes are to give equal answers.
            answer = Missing("broken", _PLACE.sub("", f"{type(error).__name__}: {error}")[:200])
        del payload, request
        _send(answers, answer)


def _limit(memory_bytes: int) -> None:
    for kind, limit in ((resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(kind)
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (limit, limit))


def _limit_cpu(cpu_s: int) -> None:
    """Grant the next picture its share; the limit counts from the start of the process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(usage.ru_utime + usage.ru_stime) + cpu_s + 1, hard))


def _receive(stream: BinaryIO) -> bytes | None:
    header = stream.read(FRAME_HEADER.size)
    if len(header) < FRAME_HEADER.size:
        return None
    (size,) = FRAME_HEADER.unpack(header)
    payload = stream.read(size)
    return payload if len(payload) == size else None


def _send(stream: BinaryIO, answer: Picture | Missing) -> None:
    payload = msgspec.msgpack.encode(answer)
    stream.write(FRAME_HEADER.pack(len(payload)) + payload)
    stream.flush()


if __name__ == "__main__":
    main(memory_bytes=int(sys.argv[1]), cpu_s=int(sys.argv[2]))
