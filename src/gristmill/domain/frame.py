"""What dispatcher and engines say to each other: batches of leased records one way, endings the other way."""

from __future__ import annotations

import msgspec

from gristmill.domain.log import Delivery, Diagnosis, Lease

__all__ = ["EngineHello", "Frame", "FrameDone", "FromEngine", "RecordEnded", "Stop", "ToEngine"]


class EngineHello(msgspec.Struct, frozen=True, tag="hello"):
    """First message of an engine: its owner name, which is new with every start, and how many records it wants."""

    owner: str
    capacity: int


class Frame(msgspec.Struct, frozen=True, gc=False, tag="frame"):
    """A batch of leased records of one generator; the lease travels with each of them."""

    frame_id: int
    generator: str
    deliveries: tuple[Delivery, ...]


class Stop(msgspec.Struct, frozen=True, tag="stop"):
    """No more frames will come; finish what is under way and leave."""


class RecordEnded(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """How one record ended in an engine.

    Attributes:
        lease: as it was sent.
        accepted: the engine's commit accepted the record; nothing is left to do.
        fenced: the lease was lost; its present owner will do it.
        diagnosis: what failed, when at least one plan failed; the record is still leased and the dispatcher decides.

    None of the three: the engine gives the record back untouched, and no attempt is counted.
    """

    lease: Lease
    accepted: bool
    fenced: bool = False
    diagnosis: Diagnosis | None = None


class FrameDone(msgspec.Struct, frozen=True, gc=False, tag="done"):
    """Every record of these endings is off the engine's hands. A frame may be reported in several parts."""

    frame_id: int
    ended: tuple[RecordEnded, ...]


ToEngine = Frame | Stop
FromEngine = EngineHello | FrameDone
