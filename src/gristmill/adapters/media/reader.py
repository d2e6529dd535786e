"""Decodes untrusted pictures in child processes that are killed when they take too much.

A child has a bound on memory and CPU that the system enforces, and a bound on time that this side enforces. Whatever a
picture does to its child, the answer is a reason, and the next picture gets a new child.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process

import msgspec
from prometheus_client import REGISTRY, CollectorRegistry, Counter

from gristmill.adapters.media.child import FRAME_HEADER, Request
from gristmill.domain.errors import Unavailable
from gristmill.ports.media import GREY_SIDE, PIXELS_SIDE, Missing, Picture

__all__ = ["ChildImageReader", "ReaderLimits", "ReaderMetrics"]

CHILD_MODULE = "gristmill.adapters.media.child"
ANSWER_BYTES_MAX = 16 * 1024 * 1024
READS_PER_CHILD_MAX = 5_000
"""Then it is replaced: what libraries leak stays bounded."""

START_S_MAX = 60.0
END_S_MAX = 1.0
SENT_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "SYSTEMROOT")
"""Of the environment; secrets stay here."""

_DECODER = msgspec.msgpack.Decoder(Picture | Missing)


class ReaderLimits(msgspec.Struct, frozen=True):
    """Bounds of one child, and of one picture.

    Attributes:
        children: started when first needed.
        memory_bytes: address space of a child; the largest picture that is allowed needs about half of it.
        cpu_s, wall_s: for one picture.
    """

    children: int = 2
    memory_bytes: int = 1024 * 1024 * 1024
    cpu_s: int = 10
    wall_s: float = 20.0


class ReaderMetrics:
    """Counts pictures by how reading them ended: `ok`, or the reason why there is none."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self.ended = Counter("gristmill_media_read", "Pictures decoded, by outcome.", ["outcome"], registry=registry)
        self.killed = Counter("gristmill_media_child_lost", "Decoding processes that died.", registry=registry)


class ChildImageReader:
    """`ImageReader` over child processes. Idle children wait for input and cost no CPU."""

    def __init__(self, *, metrics: ReaderMetrics, limits: ReaderLimits | None = None) -> None:
        self._limits = limits or ReaderLimits()
        self._metrics = metrics
        self._permits = asyncio.Semaphore(self._limits.children)
        self._idle: list[_Child] = []
        self._killed: list[_Child] = []

    async def read(self, body: bytes, *, tile_side: int = 448) -> Picture | Missing:
        """Return the picture, or why there is none; see `ports.media.ImageReader`.

        Raises:
            Unavailable: no child process can be started.
        """
        async with self._permits:
            child = self._idle.pop() if self._idle else await _Child.start(self._limits)
            is_fit = False
            try:
                answer = await child.read(Request(body, tile_side), wall_s=self._limits.wall_s)
                is_fit = child.is_fit
            finally:
                # Also when cancelled: an answer that nobody waits for would be taken for the next one.
                if is_fit:
                    self._idle.append(child)
                else:
                    child.kill()
                    self._killed = [*(one for one in self._killed if not one.is_over), child]
        if child.is_lost:
            self._metrics.killed.inc()
        self._metrics.ended.labels(answer.reason if isinstance(answer, Missing) else "ok").inc()
        return answer

    async def close(self) -> None:
        """Let the children end. Safe to call twice."""
        children, self._idle, self._killed = [*self._idle, *self._killed], [], []
        for child in children:
            await child.end()


class _Child:
    """One process and its two pipes."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._reads = 0
        self._is_started = False
        self.is_lost = False

    @classmethod
    async def start(cls, limits: ReaderLimits) -> _Child:
        environment = {name: os.environ[name] for name in SENT_ON if name in os.environ}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        command = (sys.executable, "-P", "-m", CHILD_MODULE, str(limits.memory_bytes), str(limits.cpu_s))
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment
            )
        except OSError as error:
            raise Unavailable("cannot start a process that decodes pictures", value=str(error)) from error
        return cls(process)

    @property
    def is_fit(self) -> bool:
        """Whether it can take another picture."""
        return not self.is_lost and self._reads < READS_PER_CHILD_MAX

    @property
    def is_over(self) -> bool:
        """Whether the process has ended."""
        return self._process.returncode is not None

    async def read(self, request: Request, *, wall_s: float) -> Picture | Missing:
        if not self._is_started:
            await self._await_start()
        self._reads += 1
        try:
            async with asyncio.timeout(wall_s):
                await self._send(request)
                answer = _DECODER.decode(await self._receive())
        except TimeoutError:
            self.is_lost = True
            return Missing("too_costly", f"takes longer than {wall_s:g} s")
        except (OSError, asyncio.IncompleteReadError):
            self.is_lost = True
            return await self._tell_death()
        except (msgspec.DecodeError, ValueError):
            self.is_lost = True
            return Missing("broken", "its decoder gave no sound answer")
        return _check(answer)

    async def end(self) -> None:
        """Wait until the process has ended; one that does not want to is killed."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._wait()

    def kill(self) -> None:
        if not self.is_over:
            self._process.kill()

    async def _wait(self) -> int:
        """Return how the process ended. Killing one that just died of itself would hide what it died of."""
        try:
            async with asyncio.timeout(END_S_MAX):
                return await self._process.wait()
        except TimeoutError:
            self.kill()
            return await self._process.wait()

    async def _await_start(self) -> None:
        try:
            async with asyncio.timeout(START_S_MAX):
                await self._receive()
        except (TimeoutError, OSError, asyncio.IncompleteReadError) as error:
            advice = "is the extra 'media' installed, and is there memory left?"
            raise Unavailable("a process that decodes pictures did not start", advice=advice) from error
        self._is_started = True

    async def _send(self, request: Request) -> None:
        stdin = self._process.stdin
        if stdin is None:
            raise OSError("no pipe")
        payload = msgspec.msgpack.encode(request)
        stdin.write(FRAME_HEADER.pack(len(payload)))
        stdin.write(payload)
        await stdin.drain()

    async def _receive(self) -> bytes:
        stdout = self._process.stdout
        if stdout is None:
            raise OSError("no pipe")
        (size,) = FRAME_HEADER.unpack(await stdout.readexactly(FRAME_HEADER.size))
        if size > ANSWER_BYTES_MAX:
            raise ValueError("answer is too large")
        return await stdout.readexactly(size)

    async def _tell_death(self) -> Missing:
        code = await self._wait()
        if code in (-signal.SIGXCPU, -signal.SIGKILL):
            return Missing("too_costly", "takes too much CPU or memory")
        return Missing("broken", f"killed its decoder ({code})")


def _check(answer: Picture | Missing) -> Picture | Missing:
    """Refuse sizes that no sound child gives: what comes back is still made from untrusted bytes."""
    if isinstance(answer, Picture):
        sizes = (len(answer.grey), len(answer.pixels))
        if sizes != (GREY_SIDE * GREY_SIDE, PIXELS_SIDE * PIXELS_SIDE * 3):
            return Missing("broken", "its decoder gave no sound answer")
    return answer
