"""The topic of an input: found again by what was given, so that an interrupted run goes on. Pure.

A topic is called `run.<stem>.<digest>.<generation>`. The digest covers the file's path and content, the mapping, and
what is done with its records. A changed file or plan is another topic; `--fresh` is the next generation of the same.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

import msgspec

__all__ = ["TOPIC_START", "choose_topic", "compute_digest"]

TOPIC_START = "run."
"""How the topics of all inputs begin."""

STEM_LENGTH_MAX = 40
DIGEST_BYTES = 6


def compute_digest(parts: Sequence[object]) -> str:
    """Return 12 hexadecimal digits over encodable values."""
    return hashlib.blake2b(msgspec.json.encode(parts, order="sorted"), digest_size=DIGEST_BYTES).hexdigest()


def choose_topic(topics: Iterable[str], *, stem: str, digest: str, is_fresh: bool) -> str:
    """Return the latest generation of an input's topic, or the next one when it is to start over.

    Args:
        topics: names of all topics that exist.
        stem: name of the file, for people.
    """
    clean = re.sub(r"[^A-Za-z0-9_-]+", "-", stem)[:STEM_LENGTH_MAX].strip("-") or "input"
    start = f"{TOPIC_START}{clean}.{digest}."
    generations = [int(tail) for topic in topics if topic.startswith(start) and (tail := topic[len(start) :]).isdigit()]
    latest = max(generations, default=0)
    return f"{start}{latest + 1 if is_fresh or not generations else latest}"
