"""Which topic a record goes to, and which plans it is for, by its type alone.

Each business has topics of its own, one for each tier: `messages.BUSINESS.TIER`. So a flood of one business, or of its
bulk, stands in nobody else's way.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from gristmill.domain.errors import ConfigError, DataError
from gristmill.engine.messages.core.envelope import TIERS, Envelope, Tier
from gristmill.plans.names import advise_known

__all__ = ["ATTEMPTS", "TOPIC_PREFIX", "Order", "Route", "Routes", "RoutingTable", "UnknownType"]

TOPIC_PREFIX = "messages."

ATTEMPTS = 200
"""Tries of one record before it is given up: about three hours with the waits in between."""

Order = Literal["key", "none"]
"""`key`: records of one key one after the other, in the order in which they were sent."""


class UnknownType(DataError):
    """No route is known for the type of a record: the sender has it still, or the log keeps it as a dead letter."""


class Route(msgspec.Struct, frozen=True):
    """Where records of one type go.

    Attributes:
        plans: keys of the plans that each record is for; each is called by itself.
        order: `key` holds later records of a key back while an earlier one waits.
        drops_stale: whether a record is dropped when its content has a newer revision by then.
        attempts: tries, after which the record is a dead letter.
    """

    type: str
    business: str
    tier: Tier
    plans: tuple[str, ...]
    order: Order = "key"
    drops_stale: bool = False
    attempts: int = ATTEMPTS

    @property
    def topic(self) -> str:
        """Where its records wait."""
        return f"{TOPIC_PREFIX}{self.business}.{self.tier}"


class Routes(msgspec.Struct, frozen=True):
    """The routes of one business, as they were written down."""

    business: str
    routes: tuple[Route, ...]


class RoutingTable:
    """All routes by type.

    Raises:
        ConfigError: a type has two routes.
    """

    def __init__(self, files: Iterable[Routes]) -> None:
        self._routes: dict[str, Route] = {}
        for file in files:
            for route in file.routes:
                if (other := self._routes.get(route.type)) is not None:
                    advice = f"it has one in {other.business!r} and one in {route.business!r}: leave one out"
                    raise ConfigError("route of a type", value=route.type, advice=advice)
                self._routes[route.type] = route

    @property
    def types(self) -> list[str]:
        """All types, sorted."""
        return sorted(self._routes)

    def find(self, type_: str) -> Route:
        """Return the route of a type.

        Raises:
            UnknownType: there is none; the nearest known type is named.
        """
        route = self._routes.get(type_)
        if route is None:
            raise UnknownType("type of a record has no route", value=type_, advice=advise_known(type_, self._routes))
        return route

    def by_topic(self) -> dict[str, list[Route]]:
        """Return the routes of each topic, urgent topics first."""
        topics: dict[str, list[Route]] = {}
        for route in sorted(self._routes.values(), key=lambda route: (TIERS.index(route.tier), route.type)):
            topics.setdefault(route.topic, []).append(route)
        return topics

    def plans(self) -> set[str]:
        """Return the keys of all plans that some route names."""
        return {plan for route in self._routes.values() for plan in route.plans}

    def prepare(self, envelope: Envelope, *, now_ms: int) -> tuple[Route, Envelope]:
        """Return the route of a record, and the record with the tier of its route and, if it has no time, with now.

        Whatever tries and outcomes a sender claims are forgotten: they are ours to count.

        Raises:
            UnknownType: no route is known for its type.
        """
        route = self.find(envelope.type)
        at_ms = envelope.at_ms or now_ms
        return route, msgspec.structs.replace(envelope, tier=route.tier, at_ms=at_ms, attempt=1, progress={})
