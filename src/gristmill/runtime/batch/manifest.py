"""What this state folder was given to work on; tells other commands where an input id may come from."""

from __future__ import annotations

from pathlib import Path

import msgspec

__all__ = ["InputManifest", "read_manifests", "write_manifest"]


class InputManifest(msgspec.Struct, frozen=True, kw_only=True):
    """One input that was run.

    Attributes:
        topic: where its records are; also the generator's type.
        source: what gives its input ids their meaning.
    """

    topic: str
    path: str
    source: str
    plans: tuple[str, ...]
    started_at_ms: int


def write_manifest(folder: Path, manifest: InputManifest) -> None:
    """Note an input, once; the file appears whole or not at all."""
    path = folder / f"{manifest.topic}.json"
    if path.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    unfinished.write_bytes(msgspec.json.encode(manifest) + b"\n")
    unfinished.replace(path)


def read_manifests(folder: Path) -> list[InputManifest]:
    """Return all inputs, the newest first."""
    found = []
    for path in folder.glob("*.json"):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=InputManifest))
        except (msgspec.DecodeError, OSError):
            continue
    return sorted(found, key=lambda manifest: manifest.started_at_ms, reverse=True)
