"""What is published, and what became of it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gristmill.api.problems import Fault

__all__ = ["BatchView", "NewItem", "PublishQuery", "PublishedView"]


class NewItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An item in our own shape. Any further field is kept under `ext`."""

    text: Annotated[str, Meta(min_length=1, description="the body, at most 1 MiB")]
    id: Annotated[str | int | None, Meta(description="your id of it; again, it is a new revision")] = None
    author: Annotated[str | int | None, Meta(description="your id of its author")] = None
    created_at: Annotated[
        str | int | float | None, Meta(description="RFC 3339, or a UNIX time in s or ms; when it was written")
    ] = None
    kind: Annotated[str, Meta(max_length=64, description="post, comment, article, image ...")] = "post"


class PublishQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Where the content comes from."""

    source: Annotated[str, Meta(max_length=256, description="a Source that maps it; our own shape by default")] = ""
    tenant: Annotated[str, Meta(max_length=128, description="whose it is; the tenant of the token by default")] = ""


class PublishedView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one record.

    `accepted`: durable, and processed soon. `filtered`: its Source leaves such records out. `refused`: see `errors`.
    """

    status: Literal["accepted", "filtered", "refused"]
    item_id: str | None = None
    input_id: str | None = None
    reason: str = ""
    errors: tuple[Fault, ...] = ()
    line: int = 0


class BatchView(msgspec.Struct, frozen=True):
    """What became of each line that is not empty, in their order; `line` counts from 1."""

    accepted: int
    filtered: int
    refused: int
    items: list[PublishedView]
