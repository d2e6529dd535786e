"""A long input made of a short one: new ids, small changes, some lines repeated to the letter."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from gristmill.domain.errors import UsageError

__all__ = ["load_records", "vary", "write_stream"]

UNCHANGED_SHARE = 0.1
"""Share of lines whose text stays as it is, so that exact duplicates exist."""

ENDINGS = ("!", " :)", "...", " lol", " really", "?", " 👍", " so good", " haha")


def load_records(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the JSON objects of JSONL files, in order."""
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    records = [decode(line) for path in paths for line in path.read_bytes().splitlines() if line.strip()]
    if not records:
        raise UsageError("no record to vary", value=[str(path) for path in paths])
    return records


def vary(records: Sequence[dict[str, Any]], *, count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield `count` records drawn from `records` with ids `v0000001`... and mostly a small change of the text."""
    chance = random.Random(seed)
    for number in range(1, count + 1):
        chosen = dict(chance.choice(records))
        chosen["id"] = f"v{number:07d}"
        if chance.random() >= UNCHANGED_SHARE:
            chosen["text"] = _change(str(chosen.get("text", "")), chance)
        yield chosen


def write_stream(path: Path, records: Sequence[dict[str, Any]], *, count: int, seed: int) -> None:
    """Write a varied stream as JSONL."""
    with path.open("wb") as file:
        for record in vary(records, count=count, seed=seed):
            file.write(msgspec.json.encode(record) + b"\n")


def _change(text: str, chance: random.Random) -> str:
    words = text.split(" ")
    match chance.randrange(4):
        case 0:
            return text + chance.choice(ENDINGS)
        case 1 if len(words) > 3:
            del words[chance.randrange(len(words))]
            return " ".join(words)
        case 2 if len(words) > 2:
            index = chance.randrange(len(words) - 1)
            words[index], words[index + 1] = words[index + 1], words[index]
            return " ".join(words)
        case _:
            return f"{text} {chance.randrange(100)}"
