"""What a process group is to do, as its main process tells the others."""

from __future__ import annotations

from pathlib import Path

import msgspec

from gristmill.intake.fields import FieldMap
from gristmill.plans.plan import Generator
from gristmill.runtime.folder import StateFolder
from gristmill.runtime.settings import Settings

__all__ = ["GroupSpec"]


class GroupSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One group.

    Attributes:
        flow_files: Python files that hold flows, beside the installed ones.
        generators: what the dispatcher serves.
        awaited: what enabled flows bring, served by this group or not: records wait for all of it.
        field_maps: generator type -> how its records name their fields; found by name where there is none.
    """

    state_dir: str
    settings: Settings
    flow_files: tuple[str, ...] = ()
    generators: tuple[Generator, ...] = ()
    awaited: tuple[Generator, ...] = ()
    field_maps: dict[str, FieldMap] = {}

    @property
    def folder(self) -> StateFolder:
        """Where the group keeps its state."""
        return StateFolder(Path(self.state_dir))
