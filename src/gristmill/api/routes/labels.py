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
from gristmill.domain.front.access import Principal
from gristmill.domain.front.label_fact import ITEM_WITHOUT_FACTS, LabelFact

__all__ = ["LABEL_OPERATIONS", "judge_label"]

ANY_ETAG = "*"

IF_MATCH = Parameter("If-Match", "the ETag that you have seen; refused if the item has changed since")


_negate_decoder = msgspec.json.Decoder(NegateRequest)
_apply_decoder = msgspec.json.Decoder(ApplyRequest)


async def _negate_label(services: Services, call: Call) -> Reply:
    """Say that a label does not hold; later runs that give it again change nothing about that."""
    request = await read_json(call, _negate_decoder)
    return await _answer(services, call, request)


async def _apply_label(services: Services, call: Call) -> Reply:
    """Say that a label holds, one that was negated too."""
    request = await read_json(call, _apply_decoder)
    return await _answer(services, call, request)


async def judge_label(
    services: Services,
    caller: Principal,
    dossier: Dossier,
    request: NegateRequest | ApplyRequest,
    *,
    etag: str = ANY_ETAG,
) -> Dossier:
    """Store what somebody says about a label of an item, and return the item as it is then.

    Args:
        etag: of the item as that person has seen it; `*` where it does not matter.
    Raises:
        ProblemRaised: `conflict`: there is no such label to negate; `precondition-failed`: the item has changed since;
            `validation`: a text that no store takes.
    """
    item_id = dossier.item.item_id
    is_negated = isinstance(request, NegateRequest)
    if is_negated and all(standing.label.val != request.val for standing in dossier.labels):
        raise problem("conflict", f"the item has no label {request.val!r}")
    check_text("/reason", request.reason)
    check_text("/actor", request.actor)
    fact = LabelFact(
        item_id=item_id,
        val=request.val,
        is_negated=is_negated,
        # Whoever holds a token may speak for others, but not without a trace.
        actor=f"{request.actor} by {caller.name}" if request.actor else caller.name,
        reason=request.reason,
        at_ms=services.clock.now_ms(),
        score=request.score if isinstance(request, ApplyRequest) else 1.0,
    )
    last_fact_id: int | None = None
    if etag != ANY_ETAG:
        if etag != compute_etag(dossier):
            raise problem("precondition-failed", f"item {item_id}")
        last_fact_id = dossier.facts[-1].fact_id if dossier.facts else ITEM_WITHOUT_FACTS
    try:
        await services.front.facts.add(fact, last_fact_id=last_fact_id)
    except StaleRead as error:
        raise problem("precondition-failed", f"item {item_id}") from error
    return await read_dossier(services.state, services.front, item_id)


async def _answer(services: Services, call: Call, request: NegateRequest | ApplyRequest) -> Reply:
    dossier = await read_visible(services, call)
    etag = call.headers.get("if-match", ANY_ETAG)
    changed = await judge_label(services, call.principal, dossier, request, etag=etag)
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
