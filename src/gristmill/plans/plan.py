"""Plans and Flows: what a package registers."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any, Literal, cast

import msgspec

from gristmill.domain.errors import ConfigError, UsageError
from gristmill.plans.names import check_name
from gristmill.plans.operator import Operator
from gristmill.plans.placement import Placement

__all__ = ["Flow", "Generator", "Plan", "Writes", "check_generator"]

Writes = Literal["on", "shadow", "off"]


class Plan:
    """A DAG of Tasks under a plan key.

    Args:
        key: unique among all flows.
        version: raised by the author with each change of meaning; stored with every Run.
        tasks: operators or placements; data edges follow from types, `after` and `after_any` add order.
        durable: the Run row is the truth while it runs, so that a Run may wait, cost money and be steered.

    Raises:
        UsageError: the key is no name, the version no whole number, or an entry of `tasks` no task.
    """

    def __init__(
        self, key: str, *, version: int = 1, tasks: Sequence[Operator | Placement], durable: bool = False
    ) -> None:
        check_name("plan key", key)
        if type(version) is not int or version < 1:
            raise UsageError(f"version of plan {key!r}", value=version, advice="use a whole number from 1")
        self.key = key
        self.version = version
        self.durable = durable
        self.placements = _read_tasks(key, tasks)

    def __repr__(self) -> str:
        return f"<plan {self.key} version {self.version}>"


def _read_tasks(key: str, tasks: Any) -> tuple[Placement, ...]:
    if not isinstance(tasks, (list, tuple)):
        raise UsageError(f"tasks of plan {key!r}", value=tasks, advice="give a list: tasks=[...]")
    placements: list[Placement] = []
    for entry in tasks:
        if isinstance(entry, Placement):
            placements.append(entry)
        elif isinstance(entry, Operator):
            placements.append(entry.use())
        else:
            is_function = inspect.isroutine(entry)
            advice = "decorate it with @task" if is_function else "list tasks, or what their use(...) gave"
            shown = entry.__name__ if is_function else entry
            raise UsageError(f"tasks of plan {key!r} hold what is not a task", value=shown, advice=advice)
    return tuple(placements)


class Generator(msgspec.Struct, frozen=True, kw_only=True):
    """What feeds Runs: a topic with the plan keys that its records go through.

    Attributes:
        type: unique name; also the name of its Group on the topic.
        topic: where its records come from.
        plans: plan keys for every record.
        weight: share of draws among the generators that have something to give; above 0.
        max_qps: records per second, None for no limit; checked before a record is taken.
        max_in_flight: records of this generator under way at once, None for no limit of its own.
        kind: kind of the items where the records do not say.
        source: name of the Source that gives (source, input id) its meaning; the topic by default.
    """

    type: str
    topic: str
    plans: tuple[str, ...]
    weight: float = 1.0
    max_qps: float | None = None
    max_in_flight: int | None = None
    kind: str = "post"
    source: str = ""

    def __post_init__(self) -> None:
        if isinstance(cast("object", self.plans), list):
            # A copy of its own: whoever still holds the list must not change what later records go through.
            msgspec.structs.force_setattr(self, "plans", tuple(self.plans))


def check_generator(generator: Generator) -> None:
    """Refuse a generator that could not feed anything.

    Raises:
        ConfigError: odd type, no topic, no plan, or a weight or limit that is not above 0.
    """
    kind, plans = generator.type, cast("object", generator.plans)
    check_name("type of a generator", kind, refuse=ConfigError)
    if not generator.topic:
        raise ConfigError(f"generator {kind!r} has no topic", advice="Generator(topic=...)")
    if not isinstance(plans, (tuple, list)) or not plans:
        advice = "give a tuple of plan keys: plans=('key',)"
        raise ConfigError(f"plans of generator {kind!r}", value=plans, advice=advice)
    if not _is_positive(generator.weight):
        raise ConfigError(f"weight of generator {kind!r}", value=generator.weight, advice="use a number above 0")
    for field, limit in (("max_qps", generator.max_qps), ("max_in_flight", generator.max_in_flight)):
        if limit is not None and not _is_positive(limit):
            raise ConfigError(f"{field} of generator {kind!r}", value=limit, advice="use a number above 0, or None")


def _is_positive(number: object) -> bool:
    return isinstance(number, (int, float)) and math.isfinite(number) and number > 0


class Flow:
    """A package's registration: its plans, generators and services.

    Args:
        name: unique; what `flows.enabled` lists.
        writes: what sinks may do: `on`, `shadow` (recorded only) or `off` (sinks are skipped).

    Raises:
        TypeError: an entry is not of the kind that its list holds.
    """

    def __init__(
        self,
        name: str,
        *,
        plans: Sequence[Plan] = (),
        generators: Sequence[Generator] = (),
        services: Sequence[Any] = (),
        writes: Writes = "shadow",
    ) -> None:
        check_name("name of a flow", name)
        _check_entries(name, "plans", plans, Plan)
        _check_entries(name, "generators", generators, Generator)
        for service in services:
            if not callable(getattr(service, "build", None)):
                raise TypeError(f"flow {name!r}: services hold objects with build(), not {service!r}")
        if writes not in ("on", "shadow", "off"):
            raise ConfigError(f"writes of flow {name!r}", value=writes, advice="on, shadow or off")
        self.name = name
        self.plans = tuple(dict.fromkeys(plans))  # Registering twice is harmless.
        self.generators = tuple(generators)
        self.services = tuple(services)
        self.writes: Writes = writes

    def __repr__(self) -> str:
        return f"<flow {self.name}>"


def _check_entries(flow: str, field: str, entries: object, wanted: type) -> None:
    if not isinstance(entries, (list, tuple)):
        raise TypeError(f"flow {flow!r}: {field} is a list of {wanted.__name__} objects, not {entries!r}")
    for entry in entries:
        if not isinstance(entry, wanted):
            raise TypeError(f"flow {flow!r}: {field} hold {wanted.__name__} objects, not {entry!r}")
