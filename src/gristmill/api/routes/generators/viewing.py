"""A generator with its partitions, and what was done to it."""

from __future__ import annotations

from gristmill.api.calls import Call, Operation, Reply, reply
from gristmill.api.problems import problem
from gristmill.api.reading.waits import explain_waits, read_lag
from gristmill.api.services import Services
from gristmill.api.shapes.generators import GeneratorDetailView, PartitionView, SteeredView
from gristmill.api.shapes.plans import GeneratorView
from gristmill.domain.front.times import write_time
from gristmill.domain.steering import Orders, PartitionLag, Sought
from gristmill.engine.dispatch.steering import Steered, read_steering
from gristmill.engine.settings import topics_of
from gristmill.plans.names import advise_known
from gristmill.plans.plan import Generator

__all__ = ["VIEWING_OPERATIONS", "WHOLE", "answer_detail", "find_generator", "view_generator"]

WHOLE = "numbers of all tenants together need a token of the default tenant, or of every tenant"
STEERED_MAX = 50


def find_generator(services: Services, call: Call) -> Generator:
    """Return the generator that a path names.

    Raises:
        ProblemRaised: `forbidden`: the caller is confined to a tenant; `not-found`.
    """
    if not call.principal.sees_whole:
        raise problem("forbidden", WHOLE)
    name = call.path_values["generator"][:128]
    if name not in services.generators:
        raise problem("not-found", f"generator {name!r} ({advise_known(name, services.generators)})")
    return services.generators[name]


async def view_generator(services: Services, generator: Generator) -> GeneratorView:
    """Return a generator with how far it is behind and what was ordered about it."""
    lag = await read_lag(services.log, generator)
    orders = services.orders.of(generator.type)
    return GeneratorView(
        type=generator.type,
        topic=generator.topic,
        source=generator.source,
        kind=generator.kind,
        plans=generator.plans,
        weight=generator.weight,
        max_qps=generator.max_qps,
        undelivered=lag.undelivered,
        in_flight=lag.in_flight,
        waiting=lag.waiting,
        dead=lag.dead,
        oldest_age_ms=lag.oldest_age_ms,
        waits=explain_waits(services, generator, lag),
        lost=lag.lost,
        paused=orders.is_paused,
        pause_reason=orders.reason,
        ordered_weight=orders.weight,
    )


async def answer_detail(services: Services, generator: Generator) -> Reply:
    """Answer with a generator as it is now."""
    partitions = [
        _view_partition(topic, one)
        for topic in topics_of(generator)
        for one in await services.log.partitions(topic, generator.type)
    ]
    steered = (await read_steering(services.definitions, generator.type))[:STEERED_MAX]
    return reply(
        GeneratorDetailView(
            generator=await view_generator(services, generator),
            partitions=partitions,
            steered=[_view_steered(one) for one in steered],
        )
    )


async def _show(services: Services, call: Call) -> Reply:
    """Show a generator with its partitions."""
    return await answer_detail(services, find_generator(services, call))


def _view_partition(topic: str, one: PartitionLag) -> PartitionView:
    return PartitionView(
        topic=topic,
        partition=one.partition,
        position=str(one.position),
        end=str(one.end),
        undelivered=one.undelivered,
        open=one.open_count,
        ours=one.is_ours,
    )


def _view_steered(one: Steered) -> SteeredView:
    orders, sought = one.orders or Orders(), one.sought or Sought(0, 0, 0)
    return SteeredView(
        at=write_time(one.at_ms),
        actor=one.actor,
        action="ordered" if one.orders is not None else "sought",
        paused=orders.is_paused,
        reason=orders.reason,
        weight=orders.weight,
        topic=one.topic,
        to=one.to,
        again=sought.again,
        skipped=sought.skipped,
    )


VIEWING_OPERATIONS = (
    Operation(
        operation_id="getGenerator",
        method="GET",
        path="/v1/generators/{generator}",
        summary="Show what feeds plans, partition by partition",
        access="viewer",
        handle=_show,
        answer=GeneratorDetailView,
        problems=("not-found",),
    ),
)
