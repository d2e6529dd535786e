"""What a task may ask for besides results: ports by role, and its own run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol

import msgspec

from gristmill.domain.ids import RunId
from gristmill.plans.names import check_name

__all__ = ["Need", "Role", "RunEnd", "RunScope", "Situation"]

RunEnd = Callable[[bool], Awaitable[None]]
"""Called once after the Run's commit: True when it ended as a success, False when it failed or was fenced."""


class Role(msgspec.Struct, frozen=True):
    """Names a port by its use: `Annotated[LLM, Role("safety")]`; configuration says which model that is."""

    name: str

    def __post_init__(self) -> None:
        check_name("name of a role", self.name)


class Need(NamedTuple):
    """A resource that a graph needs: the port's Protocol and the role asked for."""

    port: type[Any]
    role: str


class Situation(msgspec.Struct, frozen=True):
    """Where a task is about to run; what disable rules may look at."""

    environment: str
    writes: str
    plan: str
    task: str


class RunScope(Protocol):
    """The Run that a task is part of; ask for it by annotating a parameter with this type."""

    @property
    def run_id(self) -> RunId: ...

    @property
    def plan(self) -> str: ...

    @property
    def position(self) -> int:
        """Log position of the item's record: equal on redelivery, lower means earlier."""
        ...

    @property
    def arrived_at_ms(self) -> int:
        """When the record entered the log, UTC epoch: equal on redelivery."""
        ...

    @property
    def attempt(self) -> int:
        """Which delivery of the record this is, from 1."""
        ...

    def on_end(self, callback: RunEnd) -> None:
        """Have `callback` called once after the Run's commit."""
        ...
