"""The sample posts as a file in the state folder, written over the last hours, and what a person says of one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from gristmill.domain.front.label_fact import LabelFact
from gristmill.ports.clock import Clock
from gristmill.runtime.composition.stores import Store

__all__ = ["PLANS", "negate_wrong_label", "prices_file", "write_posts"]

PLANS = ("screen", "prices")
POSTS_FILE = "demo_posts.jsonl"
PARTS = (POSTS_FILE, "demo_troubles.jsonl")
"""Sixty posts; then one that is labelled wrongly, one that the plan `prices` cannot read, and half a line."""

PRICES_FILE = "demo_prices.py"
STRETCH = 8
"""The posts were written within three quarters of an hour; so many times slower they fill an afternoon."""

NEWEST_AGE = timedelta(minutes=2)

WRONG_POST = "p61"
WRONG_LABEL = "spam"
WHY_WRONG = "warns of an advertisement by quoting it"
MODERATOR = "demo moderator"


def write_posts(folder: Path, clock: Clock) -> Path:
    """Return the file of posts in a folder; one of an earlier call stays as it is, so that its run is found again."""
    path, lines = folder / POSTS_FILE, _read_shipped()
    if path.is_file() and [_without_time(line) for line in path.read_bytes().splitlines()] == [
        _without_time(line) for line in lines
    ]:
        return path
    newest = datetime.fromtimestamp(clock.now_ms() / 1000, UTC) - NEWEST_AGE
    times = [_time_of(post) for line in lines if (post := _try_decode(line)) is not None]
    moved = [_move(line, last=max(times), newest=newest) for line in lines]
    path.write_bytes(b"\n".join(moved) + b"\n")
    return path


def prices_file() -> Path:
    """Return the flow file of the plan `prices`."""
    return Path(str(resources.files("gristmill.cli").joinpath("data", PRICES_FILE)))


async def negate_wrong_label(store: Store, source: str, clock: Clock) -> None:
    """Say that a label does not hold, as a person would; once, however often the demo runs."""
    item_id = (await store.state.resolve(source, [WRONG_POST])).get(WRONG_POST)
    if item_id is None or (await store.front.facts.of([item_id])).get(item_id):
        return
    fact = LabelFact(
        item_id=item_id,
        val=WRONG_LABEL,
        is_negated=True,
        actor=MODERATOR,
        reason=WHY_WRONG,
        at_ms=clock.now_ms(),
    )
    await store.front.facts.add(fact)


def _read_shipped() -> list[bytes]:
    data = resources.files("gristmill.cli").joinpath("data")
    return [line for part in PARTS for line in data.joinpath(part).read_bytes().splitlines()]


def _try_decode(line: bytes) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError:
        return None


def _without_time(line: bytes) -> object:
    post = _try_decode(line)
    return line if post is None else {**post, "created_at": ""}


def _time_of(post: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(post["created_at"])


def _move(line: bytes, *, last: datetime, newest: datetime) -> bytes:
    """Return a line whose time keeps its distance to the last one, stretched; half a line stays as it is."""
    post = _try_decode(line)
    if post is None:
        return line
    moved = newest - (last - _time_of(post)) * STRETCH
    return msgspec.json.encode({**post, "created_at": moved.strftime("%Y-%m-%dT%H:%M:%SZ")})
