"""A verdict while somebody waits: a plan is run at once, and nothing is stored unless asked."""

from __future__ import annotations

import msgspec

from gristmill.api.calls import Call, Operation, Reply, read_json, reply
from gristmill.api.problems import problem
from gristmill.api.routes.doors import IDEMPOTENCY_KEY, find_door, read_once
from gristmill.api.routes.publish import faults_of, publish
from gristmill.api.services import Services
from gristmill.api.shapes.scoring import ScoreBody, ScoreRequest, ScoreView
from gristmill.api.views.scores import view_score
from gristmill.intake.publish import Accepted, Refused

__all__ = ["SCORE_OPERATIONS"]


_decoder = msgspec.json.Decoder(ScoreRequest)


async def _score_item(services: Services, call: Call) -> Reply:
    """Run a plan over an item and return what it found. What items share, such as duplicates, is not looked at."""
    request = await read_json(call, _decoder)
    raw = bytes(request.item)
    door = find_door(services, call, source=request.source, tenant="")
    mapped = services.publisher.check(raw, door)
    if isinstance(mapped, Refused):
        raise problem("validation", "item", errors=faults_of(mapped))
    plan = request.plan or door.generator.plans[0]
    if plan not in services.registry.plans:
        raise problem("not-found", f"plan {plan!r}")
    began_us = services.clock.monotonic_us()
    try:
        ended = await services.scorer.score(plan, mapped, timeout_ms=request.timeout_ms)
    except TimeoutError as error:
        raise problem("deadline-exceeded", f"{request.timeout_ms} ms") from error
    took_us = services.clock.monotonic_us() - began_us
    item_id: str | None = None
    if request.store:
        [outcome] = await publish(services, [raw], door, read_once(services, call, raw))
        item_id = str(outcome.item_id) if isinstance(outcome, Accepted) else None
    version = services.registry.plans[plan].graph.version
    return reply(view_score(plan, version, ended, duration_us=took_us, item_id=item_id))


SCORE_OPERATIONS = (
    Operation(
        operation_id="scoreItem",
        method="POST",
        path="/v1/score",
        summary="Run a plan over an item and wait for what it finds",
        access="operator",
        handle=_score_item,
        headers=(IDEMPOTENCY_KEY,),
        body=ScoreBody,
        answer=ScoreView,
        problems=("not-found", "deadline-exceeded", "back-pressure", "key-reused"),
        example={"item": {"text": "Buy followers now! https://example.com/x"}},
    ),
)
