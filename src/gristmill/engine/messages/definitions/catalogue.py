"""Publishes routes, and makes the routing table of all that are published; an installation has one, of all tenants."""

from __future__ import annotations

import hashlib
from pathlib import Path

from gristmill.domain.errors import ConfigError
from gristmill.domain.input_key import TENANT_DEFAULT
from gristmill.engine.messages.core.routes import Routes, RoutingTable
from gristmill.engine.messages.definitions.reader import read_routes
from gristmill.ports.clock import Clock
from gristmill.ports.definitions import Definition, Definitions

__all__ = ["KIND", "load_routes", "load_table", "publish_routes"]

KIND = "routes"
HASH_DIGITS = 16


def load_routes(path: Path) -> Routes:
    """Read a file of routes.

    Raises:
        ConfigError: it cannot be read, or something in it is wrong; names file and line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        advice = f"{getattr(error, 'strerror', None) or error}; check the file"
        raise ConfigError("file of routes cannot be read", value=str(path), advice=advice) from error
    return read_routes(text, file=str(path))


async def load_table(definitions: Definitions) -> RoutingTable:
    """Return the table of all routes that are published."""
    return RoutingTable([_read(one) for one in await definitions.latest(KIND)])


async def publish_routes(
    definitions: Definitions, text: str, *, file: str, actor: str, clock: Clock, expected: int | None = None
) -> Definition:
    """Publish the routes of one business; processes that route take them up when they next load the table.

    Raises:
        ConfigError: something in them is wrong, or another business has a route for one of their types.
        StaleRead: the latest revision is not `expected`.
    """
    routes = read_routes(text, file=file)
    others = [one for one in await definitions.latest(KIND) if one.name != routes.business]
    RoutingTable([routes, *map(_read, others)])
    new = Definition(
        kind=KIND,
        tenant=TENANT_DEFAULT,
        name=routes.business,
        revision=0,
        hash=hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS],
        at_ms=clock.now_ms(),
        actor=actor,
        body=text,
    )
    return await definitions.publish(new, expected=expected)


def _read(definition: Definition) -> Routes:
    return read_routes(definition.body, file=f"{KIND} {definition.name!r}, revision {definition.revision}")
