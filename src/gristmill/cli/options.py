"""Options that several commands share, and what they lead to."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from gristmill.runtime.folder import StateFolder
from gristmill.runtime.settings import Settings
from gristmill.runtime.settings_sources import LoadedSettings, load_settings

__all__ = [
    "ConfigFile",
    "FlowFiles",
    "MapTexts",
    "PlanKeys",
    "StateDir",
    "as_texts",
    "folder_of",
    "load",
    "state_folder",
]

StateDir = Annotated[
    Path | None, Parameter(name="--state", help="Folder of all state. [default: .gristmill]", show_default=False)
]
ConfigFile = Annotated[
    Path | None,
    Parameter(name="--config", help="Settings file. [default: gristmill.toml, if there is one]", show_default=False),
]
FlowFiles = Annotated[
    tuple[Path, ...],
    Parameter(
        name="--flow",
        help="Python files with your plans.",
        consume_multiple=True,
        negative="",
        show_default=False,
    ),
]
PlanKeys = Annotated[
    tuple[str, ...],
    Parameter(name="--plan", help="Plans to run.", consume_multiple=True, negative="", show_default=False),
]
MapTexts = Annotated[
    tuple[str, ...],
    Parameter(
        name="--map",
        help="TARGET=FIELD, several if needed: text=Comment id=ID. Targets: id, text, author, created_at, kind.",
        consume_multiple=True,
        negative="",
        show_default=False,
    ),
]


def load(
    *,
    state: Path | None = None,
    config: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> LoadedSettings:
    """Return the settings as a command sees them; flags that were not given are None."""
    given = {key: value for key, value in (flags or {}).items() if value is not None}
    if state is not None:
        given["main.state_dir"] = str(state)
    return load_settings(file=config, env=os.environ, flags=given, defaults=defaults)


def state_folder(state: Path | None, config: Path | None) -> StateFolder:
    """Return the state folder that a command looks into."""
    return folder_of(load(state=state, config=config).settings)


def folder_of(settings: Settings) -> StateFolder:
    """Return the state folder that settings name."""
    return StateFolder(Path(settings.main.state_dir))


def as_texts(paths: Sequence[Path]) -> tuple[str, ...]:
    """Return paths as a group spec holds them."""
    return tuple(str(path) for path in paths)
