"""A Task: an Operator placed in a plan, with its order, its bindings and its configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

import msgspec

if TYPE_CHECKING:
    from gristmill.plans.operator import Operator

__all__ = ["Anchor", "Placement"]

Anchor = Union["Operator", "Placement", str]
"""Names a Task of the same plan: by placement, by operator (where it stands once), or by Task name."""


class Placement(msgspec.Struct, frozen=True, eq=False):
    """An Operator at one place of a plan; made by `Operator.use`, whose arguments are explained there.

    `config` is shared by all runs: a task reads it and leaves it as it is.
    """

    operator: Operator
    name: str
    after: tuple[Anchor, ...] = ()
    after_any: tuple[Anchor, ...] = ()
    bind: dict[str, Anchor] = {}
    absent: tuple[type, ...] = ()
    finally_: bool = False
    config: dict[str, Any] = {}
