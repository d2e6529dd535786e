"""`@task`: a Python function becomes an Operator, its signature the contract.

Parameters before `*`: `item: Item`, results of other tasks by their type (`X` or `X | None`), resources
(`Annotated[LLM, Role("safety")]`) and the run's own `RunScope`. Parameters after `*` are configuration. The
return type names at most one result type and the Outcomes that the task may use instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args, overload

import msgspec

from gristmill.domain.errors import UsageError
from gristmill.domain.outcome import Park
from gristmill.plans.names import advise_known
from gristmill.plans.placement import Anchor, Placement
from gristmill.plans.resources import Situation
from gristmill.plans.results import ResultMark, mark_of
from gristmill.plans.signature import Parameter, Signature

__all__ = ["DisableRule", "Operator", "Options", "Runs", "task"]

Runs = Literal["inline", "async", "thread", "process"]
DisableRule = Callable[[Situation], str | None]
"""Returns a reason to skip the task here, or None. Evaluated before the task, for each Run."""

ON_ERROR = ("fail", "skip", "park", "hold", "fail_open", "fail_closed")


class Operator:
    """A capability with revision and timing; placed in a plan it is a Task. A call is a plain call."""

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        self.function = function
        self.options = options
        self.name = options.name or function.__name__
        self.__doc__ = function.__doc__
        signature = Signature(self.name, function)
        self.parameters: tuple[Parameter, ...] = signature.parameters
        self.config_defaults: dict[str, Any] = signature.config_defaults
        self.config_required: frozenset[str] = signature.config_required
        self.result: type[msgspec.Struct] | None = signature.result
        self.mark: ResultMark | None = mark_of(self.result) if self.result is not None else None
        self.outcomes: frozenset[type] = signature.outcomes
        self.runs: Runs = _decide_runs(self.name, function, options.runs)
        self.needs_durable = Park in self.outcomes or options.on_error in ("park", "hold")
        _check_options(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<task {self.name} revision {self.options.revision}>"

    def use(
        self,
        *,
        name: str = "",
        after: Sequence[Anchor] = (),
        after_any: Sequence[Anchor] = (),
        bind: dict[str, Anchor] | None = None,
        absent: Sequence[type] = (),
        finally_: bool = False,
        **config: Any,
    ) -> Placement:
        """Place this operator in a plan.

        Args:
            name: the Task's name; needed when the operator stands twice in a plan.
            after: Tasks that go first and whose Skip skips this one.
            after_any: Tasks that only go first.
            bind: parameter name -> Task that fills it, where several Tasks give its type.
            absent: result types that no Task of the plan gives; their `X | None` parameters are always None.
            finally_: run even after an `End`.
            config: values of the parameters after `*`.
        """
        for key in config:
            if key not in self.config_defaults and key not in self.config_required:
                known = [*self.config_defaults, *self.config_required]
                raise UsageError(f"task {self.name!r} has no parameter", value=key, advice=advise_known(key, known))
        missing = sorted(self.config_required - config.keys())
        if missing:
            raise UsageError(f"task {self.name!r} needs a value for", value=missing[0], advice=f"use({missing[0]}=...)")
        return Placement(
            operator=self,
            name=name or self.name,
            after=tuple(after),
            after_any=tuple(after_any),
            bind=dict(bind or {}),
            absent=tuple(absent),
            finally_=finally_,
            config={**self.config_defaults, **config},
        )


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What `@task(...)` was given; see `task`."""

    name: str = ""
    revision: str = "1"
    runs: Runs | None = None
    attempts: int = 2
    waits_ms: tuple[int, ...] = (1_000,)
    retry_on: tuple[type[BaseException], ...] = (Exception,)
    timeout_ms: int = 5_000
    on_error: str = "fail"
    safety: bool = False
    sink: bool = False
    disable: tuple[DisableRule, ...] = ()


@overload
def task(function: Callable[..., Any], /) -> Operator: ...
@overload
def task(
    *,
    name: str = "",
    revision: str = "1",
    runs: Runs | None = None,
    attempts: int = 2,
    waits_ms: Sequence[int] = (1_000,),
    retry_on: Sequence[type[BaseException]] = (Exception,),
    timeout_ms: int = 5_000,
    on_error: str = "",
    safety: bool = False,
    sink: bool = False,
    disable: Sequence[DisableRule] = (),
) -> Callable[[Callable[..., Any]], Operator]: ...
def task(function: Callable[..., Any] | None = None, /, **given: Any) -> Any:
    """Declare a Python operator.

    Args:
        name: defaults to the function's name.
        revision: change it when equal input may give another result; stored with every cell and label.
        runs: `def` runs `inline` (keep it under 5 ms) unless it is `thread` or `process`; `async def` runs
            `async`.
        attempts: calls in all; 1 bypasses retries.
        waits_ms: pause before each further attempt, the last one repeated.
        retry_on: exception types worth another attempt.
        timeout_ms: one attempt of an async, thread or process task.
        on_error: after the last attempt: `fail` (default), `skip`, `fail_open` (optional readers get None),
            `fail_closed[:state]` (the Run ends, `rejected` by default), `park`, `hold`.
        safety: the task judges safety, so `on_error` must be stated.
        sink: its result holds `effects`; skipped where the flow's `writes` is `off`.
        disable: rules looked at before the task; a reason skips it.
    """
    if function is not None:
        return Operator(function, Options())
    for key in ("waits_ms", "retry_on", "disable"):
        if key in given:
            given[key] = tuple(given[key])
    if given.get("safety") and not given.get("on_error"):
        raise UsageError("safety task without on_error", advice="state on_error='fail_closed', 'fail' or another")
    if not given.get("on_error"):
        given.pop("on_error", None)
    return lambda decorated: Operator(decorated, Options(**given))


def _decide_runs(name: str, function: Callable[..., Any], asked: Runs | None) -> Runs:
    is_async = inspect.iscoroutinefunction(function)
    if asked is None:
        return "async" if is_async else "inline"
    if asked not in get_args(Runs):
        raise UsageError(f"runs of task {name!r}", value=asked, advice=advise_known(asked, get_args(Runs)))
    if is_async != (asked == "async"):
        advice = "'async def' goes with runs='async', 'def' with 'inline', 'thread' or 'process'"
        raise UsageError(f"runs of task {name!r} does not fit its function", value=asked, advice=advice)
    return asked


def _check_options(operator: Operator) -> None:
    options, name = operator.options, operator.name
    on_error, _, state = options.on_error.partition(":")
    if on_error not in ON_ERROR or (state and on_error != "fail_closed"):
        raise UsageError(f"on_error of task {name!r}", value=options.on_error, advice=advise_known(on_error, ON_ERROR))
    if options.attempts < 1 or options.timeout_ms < 1 or any(wait < 0 for wait in options.waits_ms):
        raise UsageError(f"attempts, timeout_ms or waits_ms of task {name!r}", advice="use positive numbers")
    has_effects = operator.mark is not None and operator.mark.has_effects
    if has_effects != options.sink:
        advice = "a sink returns a result with 'effects', and only a sink does"
        raise UsageError(f"task {name!r} and its effects", value=options.sink, advice=advice)
