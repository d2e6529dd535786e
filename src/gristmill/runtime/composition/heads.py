"""Trained heads of a state folder: one file a revision, and a pointer to the one that is active."""

from __future__ import annotations

from pathlib import Path

from gristmill.runtime.folder import StateFolder

__all__ = ["HeadShelf"]

ACTIVE = "active"
SUFFIX = ".head"


class HeadShelf:
    """Heads of the label `spam`. Revisions are never changed; activating one is a step of its own."""

    def __init__(self, folder: StateFolder) -> None:
        self._folder = folder.models_dir / "spam"

    def add(self, revision: str, stored: bytes) -> Path:
        """Store a revision and return its file; equal bytes are one revision."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{revision}{SUFFIX}"
        _write_whole(path, stored)
        return path

    def activate(self, revision: str) -> None:
        """Have the flow `screen` use a revision from its next start on."""
        _write_whole(self._folder / ACTIVE, revision.encode())

    def active_path(self) -> str:
        """Return the file of the active revision, empty where there is none."""
        pointer = self._folder / ACTIVE
        if not pointer.is_file():
            return ""
        return str(self._folder / f"{pointer.read_text(encoding='utf-8').strip()}{SUFFIX}")


def _write_whole(path: Path, content: bytes) -> None:
    unfinished = path.with_name(f".{path.name}.part")
    unfinished.write_bytes(content)
    unfinished.replace(path)
