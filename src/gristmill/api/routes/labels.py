"""What people say about labels: they negate or apply them, with their name and a reason. Nothing is ever deleted."""

from __future__ import annotations

import msgspec

from gristmill.api.calls import Call, Operation, Parameter, Reply, read_json, reply
from gristmill.api.calls.bodies import check_text
from gristmill.api.problems import problem
from gristmill.api.reading import Dossier, read_dossier
from gristmill.api.routes.items import read_visible
from gristmill.api.services import Services
from gristmill.api.shapes.judging import ApplyRequest, NegateRequest
from gristmill.api.views.items import ItemView, compute_etag, view_item
from gristmill.domain.errors import StaleRead
from gristmill.domain.front.label_fact import ITEM_WITHOUT_FACTS, LabelFact

__all__ = ["LABEL_OPERATIONS"]

IF_MATCH = Parameter("If-Match", "the ETag that you have seen; refused if the item has changed since")


_negate_decoder = msgspec.json.Decoder(NegateRequest)
_apply_decoder = msgspec.json.Decoder(ApplyRequest)


async def _negate_label(services: Services, call: Call) -> Reply:
    """Say that a label does not hold; later runs that give it again change nothing about that."""
    request = await read_json(call, _negate_decoder)
    dossier = await read_visible(services, call)
    if all(standing.label.val != request.val for standing in dossier.labels):
        raise problem("conflict", f"the item has no label {request.val!r}")
    return await _say(services, call, dossier, _fact(services, call, dossier, request, is_negated=True))


async def _apply_label(services: Services, call: Call) -> Reply:
    """Say that a label holds, one that was negated too."""
    request = await read_json(call, _apply_decoder)
    dossier = await read_visible(services, call)
    fact = _fact(services, call, dossier, request, is_negated=False)
    return await _say(services, call, dossier, msgspec.structs.replace(fact, score=request.score))


def _fact(
    services: Services, call: Call, dossier: Dossier, request: NegateRequest | ApplyRequest, *, is_negated: bool
) -> LabelFact:
    check_text("/reason", request.reason)
    check_text("/actor", request.actor)
    name = call.principal.name
    return LabelFact(
        item_id=dossier.item.item_id,
        val=request.val,
        is_negated=is_negated,
        # Whoever holds a token may speak for others, but not without a trace.
        actor=f"{request.actor} by {name}" if request.actor else name,
        reason=request.reason,
        at_ms=services.clock.now_ms(),
    )


async def _say(services: Services, call: Call, dossier: Dossier, fact: LabelFact) -> Reply:
    wanted = call.headers.get("if-match", "*")
    last_fact_id: int | None = None
    if wanted != "*":
        if wanted != compute_etag(dossier):
            raise problem("precondition-failed", f"item {fact.item_id}")
        last_fact_id = dossier.facts[-1].fact_id if dossier.facts else ITEM_WITHOUT_FACTS
    try:
        await services.front.facts.add(fact, last_fact_id=last_fact_id)
    except StaleRead as error:
        raise problem("precondition-failed", f"item {fact.item_id}") from error
    changed = await read_dossier(services.state, services.front, fact.item_id)
    return reply(view_item(changed), headers={"ETag": compute_etag(changed)})


PROBLEMS = ("not-found", "conflict", "precondition-failed")

LABEL_OPERATIONS = (
    Operation(
        operation_id="negateLabel",
        method="POST",
        path="/v1/items/{item_id}/labels:negate",
        summary="Say that a label does not hold",
        access="reviewer",
        handle=_negate_label,
        headers=(IF_MATCH,),
        body=NegateRequest,
        answer=ItemView,
        problems=PROBLEMS,
        example={"val": "spam", "reason": "a regular who quotes an advertisement"},
    ),
    Operation(
        operation_id="applyLabel",
        method="POST",
        path="/v1/items/{item_id}/labels:apply",
        summary="Say that a label holds",
        access="reviewer",
        handle=_apply_label,
        headers=(IF_MATCH,),
        body=ApplyRequest,
        answer=ItemView,
        problems=PROBLEMS,
        example={"val": "spam", "reason": "the link leads to a shop"},
    ),
)
