"""The files that pages need beside themselves, read once and served under the hash of their content.

A new release has new addresses, so a browser may keep what it has for good.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from types import MappingProxyType

import msgspec

from gristmill.api.problems import problem

__all__ = ["Asset", "Assets", "read_assets"]

MEDIA_TYPES = MappingProxyType({".css": "text/css", ".js": "text/javascript", ".txt": "text/plain"})
HASH_CHARS = 16
FOLDER = "static"
VENDORED = "vendor"


class Asset(msgspec.Struct, frozen=True):
    """One file."""

    path: str
    content: bytes
    media_type: str


class Assets:
    """Files by name and by path."""

    def __init__(self, by_name: Mapping[str, Asset]) -> None:
        self._by_name = by_name
        self._by_path = {one.path: one for one in by_name.values()}

    def path_of(self, name: str) -> str:
        """Return where a file is served, below `/console/static/`.

        Raises:
            KeyError: there is no such file.
        """
        return self._by_name[name].path

    def find(self, path: str) -> Asset:
        """Return a file.

        Raises:
            ProblemRaised: `not-found`: no such file, or an earlier release's.
        """
        asset = self._by_path.get(path.lstrip("/"))
        if asset is None:
            raise problem("not-found", "file of the console")
        return asset


@lru_cache(maxsize=1)
def read_assets() -> Assets:
    """Return all files of the bundle, read once for a process."""
    return Assets({name: _read(name) for name in _names()})


def _names() -> list[str]:
    root = resources.files(__package__) / FOLDER
    own = [one.name for one in root.iterdir() if one.is_file()]
    others = [f"{VENDORED}/{one.name}" for one in (root / VENDORED).iterdir() if one.is_file()]
    return [name for name in (*own, *others) if _suffix(name) in MEDIA_TYPES]


def _read(name: str) -> Asset:
    content = (resources.files(__package__) / FOLDER / name).read_bytes()
    digest = hashlib.sha256(content).hexdigest()[:HASH_CHARS]
    return Asset(f"{digest}/{name}", content, MEDIA_TYPES[_suffix(name)])


def _suffix(name: str) -> str:
    return "." + name.rpartition(".")[2]
