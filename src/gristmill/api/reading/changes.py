"""What people and restarts have changed of late, newest first."""

from __future__ import annotations

from typing import Literal

import msgspec

from gristmill.api.services import Services
from gristmill.domain.front.access import EVERY_TENANT, Principal
from gristmill.domain.front.label_fact import LabelFact
from gristmill.domain.ids import ItemId
from gristmill.engine.dispatch.steering import read_steering, tell_steered
from gristmill.intake.sources.catalogue import KIND

__all__ = ["Change", "read_changes"]

FACTS_MAX = 50
STEERED_MAX = 20

ChangeKind = Literal[
    "started",
    "source.published",
    "generator.steered",
    "token.created",
    "token.revoked",
    "label.negated",
    "label.applied",
]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One of them.

    Attributes:
        subject: name of the source, generator or token, or the label.
        actor: who did it, as far as that is kept.
        item_id: of the item that it is about.
    """

    kind: ChangeKind
    at_ms: int
    subject: str = ""
    actor: str = ""
    detail: str = ""
    item_id: ItemId | None = None


async def read_changes(services: Services, principal: Principal, *, since_ms: int, limit: int) -> list[Change]:
    """Return the changes that somebody may know of."""
    found = [
        *await _sources(services, principal),
        *(await _steering(services) if principal.sees_whole else []),
        *(await _tokens(services, principal) if principal.has("admin") else []),
        *await _labels(services, principal),
    ]
    recent = [change for change in found if change.at_ms >= since_ms]
    return sorted(recent, key=lambda change: -change.at_ms)[:limit]


async def _sources(services: Services, principal: Principal) -> list[Change]:
    return [
        Change(
            kind="source.published",
            at_ms=one.at_ms,
            subject=one.name,
            actor=one.actor,
            detail=f"revision {one.revision}",
        )
        for one in await services.definitions.latest(KIND)
        if principal.sees(one.tenant)
    ]


async def _steering(services: Services) -> list[Change]:
    return [
        Change(kind="generator.steered", at_ms=one.at_ms, subject=name, actor=one.actor, detail=tell_steered(one))
        for name in services.generators
        for one in (await read_steering(services.definitions, name))[:STEERED_MAX]
    ]


async def _tokens(services: Services, principal: Principal) -> list[Change]:
    changes: list[Change] = []
    for token in await services.front.tokens.all():
        if not principal.sees(token.tenant):
            continue
        detail = f"{token.role} of {'every tenant' if token.tenant == EVERY_TENANT else token.tenant}"
        changes.append(Change(kind="token.created", at_ms=token.created_at_ms, subject=token.name, detail=detail))
        if token.revoked_at_ms is not None:
            changes.append(Change(kind="token.revoked", at_ms=token.revoked_at_ms, subject=token.name, detail=detail))
    return changes


async def _labels(services: Services, principal: Principal) -> list[Change]:
    facts = await services.front.facts.newest(limit=FACTS_MAX)
    if not facts:
        return []
    items = await services.front.listing.items_of(list({fact.item_id for fact in facts}))
    visible = {item.item_id for item in items if principal.sees(item.tenant)}
    return [_of_fact(fact) for fact in facts if fact.item_id in visible]


def _of_fact(fact: LabelFact) -> Change:
    return Change(
        kind="label.negated" if fact.is_negated else "label.applied",
        at_ms=fact.at_ms,
        subject=fact.val,
        actor=fact.actor,
        detail=fact.reason,
        item_id=fact.item_id,
    )
