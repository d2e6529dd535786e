"""Finds in an item's own fields what refers to its pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from gristmill.domain.item import Item

__all__ = ["find_references", "show_reference"]

REFERENCES_MAX = 64
"""Of one item; how many of them are looked at, the flow decides."""

NESTING_MAX = 4
"""Levels of lists and objects under a field, as in `media: [{variants: [{url: ...}]}]`."""

SHOWN_CHARS = 120

FIELDS = frozenset(
    "image images imageurl imageurls imageuri picture pictures pictureurl pic pics photo photos photourl photourls "
    "img imgs imgurl media mediaurl mediaurls attachment attachments thumbnail thumbnailurl cover coverurl".split()
)
"""Names of fields that hold pictures; case, `_`, `-` and blanks do not matter."""

INNER_FIELDS = frozenset(
    "url uri src href data image images media imageurl mediaurl mediaurlhttps contenturl variants".split()
)
"""Names inside an object under such a field; also names of fields of an item of kind `image`."""

IMAGE_KIND = "image"
BLOCKS_FIELD = "body"
"""The body of an article that a Source has mapped: text, or blocks of text and media."""

SCHEMES = ("http://", "https://", "data:", "file:")
OTHER_MEDIA = (".mp4", ".mov", ".webm", ".m3u8", ".mp3", ".m4a", ".wav", ".ogg", ".pdf")
OTHER_TYPES = ("video", "audio", "animated_gif")


def find_references(item: Item) -> tuple[str, ...]:
    """Return what refers to the item's pictures, each once, in the order of its fields: addresses and `data:` URLs."""
    if not item.ext and not item.fields:
        return ()
    of_kind = item.kind == IMAGE_KIND
    found: dict[str, None] = {}
    for name, value in (*item.fields.items(), *item.ext.items()):
        is_blocks = name == BLOCKS_FIELD and not isinstance(value, str)
        if value and (is_blocks or _is_picture_field(name) or (of_kind and _is_inner_field(name))):
            for reference in _walk(value, NESTING_MAX):
                found[reference] = None
                if len(found) == REFERENCES_MAX:
                    return tuple(found)
    return tuple(found)


def show_reference(reference: str) -> str:
    """Return a reference short enough to be evidence: of a `data:` URL only its type."""
    if reference[:5].lower() == "data:":
        return f"{reference.partition(',')[0][:40]},..."
    return reference if len(reference) <= SHOWN_CHARS else f"{reference[: SHOWN_CHARS - 3]}..."


def _walk(value: Any, levels: int) -> Iterator[str]:
    if isinstance(value, str):
        if _is_reference(value):
            yield value.strip()
    elif not levels:
        return
    elif isinstance(value, Mapping):
        if not str(value.get("type", "")).lower().startswith(OTHER_TYPES):
            for name, inner in value.items():
                if _is_inner_field(name):
                    yield from _walk(inner, levels - 1)
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        for inner in value:
            yield from _walk(inner, levels - 1)


def _is_reference(text: str) -> bool:
    start = text[:16].lstrip().lower()
    if not start.startswith(SCHEMES):
        return False
    if start.startswith("data:"):
        return not text[:40].lstrip().lower().startswith(("data:video", "data:audio", "data:text"))
    path = text.partition("?")[0].partition("#")[0].rstrip().lower()
    return not path.endswith(OTHER_MEDIA)


@lru_cache(maxsize=4_096)
def _is_picture_field(name: str) -> bool:
    return _fold(name) in FIELDS


@lru_cache(maxsize=4_096)
def _is_inner_field(name: str) -> bool:
    return _fold(name) in INNER_FIELDS


def _fold(name: str) -> str:
    return "".join(sign for sign in name.casefold() if sign.isalnum())
