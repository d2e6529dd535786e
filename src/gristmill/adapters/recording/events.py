"""The events of a history and the file that holds them; `gristmill.testing.history` judges them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import msgspec

from gristmill.ports.clock import Clock

__all__ = ["EventKind", "HistoryEvent", "HistoryRecorder", "read_history"]

EventKind = Literal[
    "publish",
    "deliver",
    "start",
    "effect",
    "accept",
    "release",
    "renew",
    "expire",
    "dead",
    "requeue",
    "commit",
    "waiting",
    "crash",
    "boot",
    "fence",
    "report",
]
"""`expire`: a lease was taken from its owner; `commit`: a group's contiguous progress; `waiting`: seen to wait at the
end; `boot`: a process has started; `fence`: the state was told to refuse earlier holders; `report`: somebody was told
that a record is accepted."""


class HistoryEvent(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One thing that happened. Fields that do not apply keep their defaults.

    Attributes:
        at_ms: wall time of the recording process; the order of events is that of the file.
        process: incarnation of the recording process.
        owner: who holds, held or lost the lease (deliver, renew, expire, crash).
        until_ms: end of the lease (deliver, renew).
        fence: epoch of the lease under which it happened (deliver, effect).
        key: what may happen only once (effect).
        item: what `version` counts revisions of (effect).
        asked_at_ms: when the call was made that this tells of (effect, accept, dead): it took hold between then and
            `at_ms`. A process may be frozen in between; 0 where it took hold when it was recorded.
    """

    kind: EventKind
    at_ms: int
    process: str = ""
    topic: str = ""
    group: str = ""
    offset: int = 0
    owner: str = ""
    attempt: int = 0
    fence: int = 0
    until_ms: int = 0
    key: str = ""
    item: str = ""
    version: int = 0
    asked_at_ms: int = 0

    @property
    def record(self) -> tuple[str, int]:
        """The record it is about."""
        return self.topic, self.offset

    @property
    def place(self) -> tuple[str, str, int]:
        """The record as one group sees it."""
        return self.topic, self.group, self.offset


class HistoryRecorder:
    """Appends events to a file that other processes may append to as well; each event is one write."""

    def __init__(self, path: Path, *, process: str, clock: Clock) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._process = process
        self._clock = clock
        self._encoder = msgspec.json.Encoder()

    def record(self, kind: EventKind, **fields: int | str) -> None:
        """Write an event; it survives a kill of this process once the call returns."""
        event = HistoryEvent(kind=kind, at_ms=self._clock.now_ms(), process=self._process, **fields)  # type: ignore[arg-type]
        os.write(self._file, self._encoder.encode(event) + b"\n")

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def read_history(path: Path) -> list[HistoryEvent]:
    """Return the events of a file in order; a last line that was cut off by a kill is left out."""
    lines = path.read_bytes().split(b"\n")
    return [msgspec.json.decode(line, type=HistoryEvent) for line in lines[:-1] if line]
