"""What may be done to a group, to its connections and to the server of its log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

__all__ = ["AT_A_SERVER", "TO_PROCESSES", "WEIGHTS", "Hurt"]

Hurt = Literal[
    "kill engine",
    "kill dispatcher",
    "kill main",
    "kill group",
    "freeze engine",
    "freeze dispatcher",
    "freeze main",
    "freeze group",
    "cut",
    "stall",
    "kill server",
]
"""`freeze` lasts twice the lease; while a group is frozen somebody else claims what it holds. `stall` leaves
connections open and passes nothing on."""

TO_PROCESSES: tuple[Hurt, ...] = get_args(Hurt)[:8]
AT_A_SERVER: tuple[Hurt, ...] = get_args(Hurt)[8:]

WEIGHTS: Mapping[Hurt, int] = {
    **dict.fromkeys(TO_PROCESSES[:4], 2),
    **dict.fromkeys(TO_PROCESSES[4:], 1),
    "cut": 4,
    "stall": 1,
    "kill server": 1,
}
"""How often each is drawn, compared with the others."""
