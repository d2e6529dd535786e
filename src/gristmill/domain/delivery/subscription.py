"""A Subscription as its file says it, checked and not yet compiled."""

from __future__ import annotations

from typing import Literal

import msgspec

from gristmill.domain.input_key import TENANT_DEFAULT

__all__ = ["POINTS", "TOPIC_PREFIX", "Order", "Point", "Subscription"]

Point = Literal["final", "change"]
"""`final`: a run of the item has ended. `change`: anything else, such as what a person says about a label."""

POINTS: tuple[Point, ...] = ("final", "change")

Order = Literal["key", "none"]
"""`key`: never two messages about one item under way at once, and never an older one after a newer."""

TOPIC_PREFIX = "delivery."
"""Of topics that subscriptions may write to: nothing that feeds runs begins like this, so no circle can come about."""


class Subscription(msgspec.Struct, frozen=True, kw_only=True):
    """Who gets which items, and how.

    Attributes:
        rows: CEL condition over `item`; empty: every item of the tenant.
        columns: patterns of names such as `text`, `labels.*`, `fields.language`.
        points: what makes a message.
        webhook: address that messages are posted to; empty where they go to `topic`.
        topic: log topic that messages are appended to.
        batch: messages in one request at most.
        max_rate: messages a second, 0 for any number.
        start: where it begins when it is published first: `now`, `earliest`, a position, or a time in RFC 3339.
        text: the file as it is.
        hash: 16 hexadecimal digits over `text`.
    """

    name: str
    tenant: str = TENANT_DEFAULT
    rows: str = ""
    columns: tuple[str, ...] = ("*",)
    points: tuple[Point, ...] = POINTS
    webhook: str = ""
    topic: str = ""
    batch: int = 1
    max_rate: float = 0
    order: Order = "key"
    start: str = "now"
    text: str = ""
    hash: str = ""

    @property
    def address(self) -> str:
        """How people name it: its name, after the tenant's where that is not the default one."""
        return self.name if self.tenant == TENANT_DEFAULT else f"{self.tenant}/{self.name}"
