"""A verdict while somebody waits: a plan is run at once, and nothing is stored unless asked."""

from __future__ import annotations

import msgspec

from gristmill.api.calls import Call, Operation, Reply, read_json, reply
from gristmill.api.problems import problem
from gristmill.api.routes.doors import IDEMPOTENCY_KEY, find_door, read_once
from gristmill.api.routes.publish import faults_of, publish
from gristmill.api.services import Services
from gristmill.api.shapes.scoring import ScoreBody, ScoreRequest, ScoreView
from gristmill.api.views.labels import view_label
from gristmill.api.views.runs import view_task
from gristmill.domain.front.label_fact import StandingLabel
from gristmill.domain.front.standing import strip_findings
from gristmill.engine.driver import Ended
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
    return reply(_view(services, plan, ended, duration_us=took_us, item_id=item_id))


def _view(services: Services, plan: str, ended: Ended, *, duration_us: int, item_id: str | None) -> ScoreView:
    values = {cell.field: msgspec.to_builtins(cell.value) for cell in ended.cells}
    return ScoreView(
        plan=plan,
        plan_version=services.registry.plans[plan].graph.version,
        status=ended.status,
        reason=ended.reason,
        error=ended.error,
        labels=tuple([view_label(StandingLabel(label)) for label in ended.labels]),
        fields={field: strip_findings(value) for field, value in values.items()},
        tasks=tuple([view_task(task) for task in ended.tasks]),
        duration_us=duration_us,
        item_id=item_id,
    )


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
