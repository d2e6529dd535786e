"""Generators paused, resumed, weighed and moved."""

from __future__ import annotations

import msgspec

from gristmill.api.calls import Call, Operation, Reply, read_json, reply
from gristmill.api.problems import Fault, problem
from gristmill.api.routes.generators.viewing import answer_detail, find_generator
from gristmill.api.services import Services
from gristmill.api.shapes.generators import (
    GeneratorDetailView,
    PauseRequest,
    SeekRequest,
    SoughtView,
    WeighRequest,
)
from gristmill.domain.errors import UsageError
from gristmill.domain.steering import PLACE_ADVICE, SeekTo, Sought, read_place
from gristmill.engine.dispatch.steering import pause, resume, seek, weigh
from gristmill.engine.settings import topics_of
from gristmill.plans.plan import Generator

__all__ = ["STEERING_OPERATIONS"]

_pause_decoder = msgspec.json.Decoder(PauseRequest)
_weigh_decoder = msgspec.json.Decoder(WeighRequest)
_seek_decoder = msgspec.json.Decoder(SeekRequest)


async def _pause(services: Services, call: Call) -> Reply:
    """Hand out nothing more of it, over restarts too; what is under way ends."""
    generator = find_generator(services, call)
    request = await read_json(call, _pause_decoder)
    try:
        await pause(
            services.definitions,
            generator.type,
            reason=request.reason,
            actor=call.principal.name,
            clock=services.clock,
        )
    except UsageError as error:
        raise problem("validation", "reason", errors=[Fault("/reason", str(error))]) from error
    return await _answer(services, generator)


async def _resume(services: Services, call: Call) -> Reply:
    """Hand its records out again."""
    generator = find_generator(services, call)
    await resume(services.definitions, generator.type, actor=call.principal.name, clock=services.clock)
    return await _answer(services, generator)


async def _weigh(services: Services, call: Call) -> Reply:
    """Give it another share of draws among those that have records."""
    generator = find_generator(services, call)
    request = await read_json(call, _weigh_decoder)
    await weigh(
        services.definitions,
        generator.type,
        weight=request.weight,
        actor=call.principal.name,
        clock=services.clock,
    )
    return await _answer(services, generator)


async def _seek(services: Services, call: Call) -> Reply:
    """Have its group go on from another place, or count what that would do. Runs that ended are not run again."""
    generator = find_generator(services, call)
    request = await read_json(call, _seek_decoder)
    topic = request.topic or generator.topic
    to = read_place(request.to)
    faults = [Fault("/to", PLACE_ADVICE)] if to is None else []
    if topic not in topics_of(generator):
        faults.append(Fault("/topic", f"is none of {', '.join(topics_of(generator))}"))
    if to is None or faults:
        raise problem("validation", errors=faults)
    preview = await services.log.seek(topic, generator.type, to, is_preview=True)
    if request.preview:
        return reply(_view(preview, is_preview=True))
    moving = preview.again + preview.skipped
    if request.expected is not None and moving != request.expected:
        raise problem("conflict", f"{moving} records would come again or be skipped instead of {request.expected}")
    return reply(_view(await _move(services, call, generator, topic, to, told=request.to), is_preview=False))


async def _move(services: Services, call: Call, generator: Generator, topic: str, to: SeekTo, *, told: str) -> Sought:
    try:
        return await seek(
            services.log,
            services.definitions,
            generator.type,
            topic=topic,
            to=to,
            told=told,
            actor=call.principal.name,
            clock=services.clock,
        )
    except UsageError as error:
        raise problem("conflict", str(error)) from error


async def _answer(services: Services, generator: Generator) -> Reply:
    await services.orders.refresh()
    return await answer_detail(services, generator)


def _view(sought: Sought, *, is_preview: bool) -> SoughtView:
    return SoughtView(again=sought.again, skipped=sought.skipped, in_flight=sought.in_flight, preview=is_preview)


STEERING_OPERATIONS = (
    Operation(
        operation_id="pauseGenerator",
        method="POST",
        path="/v1/generators/{generator}/pause",
        summary="Pause what feeds plans",
        access="operator",
        handle=_pause,
        body=PauseRequest,
        answer=GeneratorDetailView,
        problems=("not-found",),
        example={"reason": "the model is being replaced"},
    ),
    Operation(
        operation_id="resumeGenerator",
        method="POST",
        path="/v1/generators/{generator}/resume",
        summary="Resume what feeds plans",
        access="operator",
        handle=_resume,
        answer=GeneratorDetailView,
        problems=("not-found",),
    ),
    Operation(
        operation_id="weighGenerator",
        method="POST",
        path="/v1/generators/{generator}/weigh",
        summary="Give what feeds plans another share",
        access="operator",
        handle=_weigh,
        body=WeighRequest,
        answer=GeneratorDetailView,
        problems=("not-found",),
        example={"weight": 2.0},
    ),
    Operation(
        operation_id="seekGenerator",
        method="POST",
        path="/v1/generators/{generator}/seek",
        summary="Have a group go on from another place, or count what that would do",
        access="operator",
        handle=_seek,
        body=SeekRequest,
        answer=SoughtView,
        problems=("not-found", "conflict"),
        example={"to": "earliest"},
    ),
)
