"""`@task`: a Python function becomes an Operator, its signature the contract.

Parameters before `*`: `item: Item`, results of other tasks by their type (`X` or `X | None`), resources
(`Annotated[LLM, Role("safety")]`) and the run's own `RunScope`. Parameters after `*` are configuration. The
return type names at most one result type and the Outcomes that the task may use instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, get_type_hints, overload

import msgspec

from gristmill.domain.errors import UsageError
from gristmill.domain.outcome import Park
from gristmill.plans.names import advise_known, check_name
from gristmill.plans.placement import Anchor, Placement
from gristmill.plans.resources import Situation
from gristmill.plans.results import ResultMark, mark_of
from gristmill.plans.signature import Parameter, Signature, convert_value

__all__ = ["DisableRule", "Operator", "Options", "Runs", "task"]

Runs = Literal["inline", "async", "thread", "process"]
DisableRule = Callable[[Situation], str | None]
"""Returns a reason to skip the task here, or None. Evaluated before the task, for each Run."""

ON_ERROR = ("fail", "skip", "park", "hold", "fail_open", "fail_closed")


class Operator:
    """A capability with revision and timing; placed in a plan it is a Task. A call is a plain call."""

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        _check_function(function, options)
        self.function = function
        self.options = options
        self.name = options.name or function.__name__
        self.__doc__ = function.__doc__
        check_name("name of a task", self.name)
        signature = Signature(self.name, function)
        self.parameters: tuple[Parameter, ...] = signature.parameters
        self.config_defaults: dict[str, Any] = signature.config_defaults
        self.config_required: frozenset[str] = signature.config_required
        self.config_types: dict[str, Any] = signature.config_types
        self.result: type[msgspec.Struct] | None = signature.result
        self.mark: ResultMark | None = mark_of(self.result) if self.result is not None else None
        self.outcomes: frozenset[type] = signature.outcomes
        self.runs: Runs = _decide_runs(self.name, function, options.runs)
        self.needs_durable: bool = Park in self.outcomes or options.on_error in ("park", "hold")
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
        name = name or self.name
        check_name(f"name of a task of operator {self.name!r}", name)
        return Placement(
            operator=self,
            name=name,
            after=_read_anchors(f"after of task {name!r}", after),
            after_any=_read_anchors(f"after_any of task {name!r}", after_any),
            bind=_read_bind(name, bind),
            absent=_read_absent(name, absent),
            finally_=finally_,
            config={**self.config_defaults, **self._read_config(name, config)},
        )

    def _read_config(self, task: str, config: dict[str, Any]) -> dict[str, Any]:
        for key in config:
            if key not in self.config_types:
                thing = f"task {task!r} has no configuration"
                raise UsageError(thing, value=key, advice=advise_known(key, self.config_types))
        missing = sorted(self.config_required - config.keys())
        if missing:
            advice = f"{self.function.__name__}.use({', '.join(f'{key}=...' for key in missing)})"
            raise UsageError(f"task {task!r} needs a value for", value=missing[0], advice=advice)
        return {
            key: convert_value(f"configuration {key!r} of task {task!r}", value, self.config_types[key])
            for key, value in config.items()
        }


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
        timeout_ms: one attempt of an async, thread or process task; refused where it could not bind.
        on_error: after the last attempt: `fail` (default), `skip`, `fail_open` (optional readers get None),
            `fail_closed[:state]` (the Run ends, `rejected` by default), `park`, `hold`.
        safety: the task judges safety, so `on_error` must be stated.
        sink: its result holds `effects`; skipped where the flow's `writes` is `off`.
        disable: rules looked at before the task; a reason skips it.
    """
    if function is not None:
        return Operator(function, Options())
    return lambda decorated: _declare(decorated, given)


def _declare(function: Callable[..., Any], given: dict[str, Any]) -> Operator:
    operator = Operator(function, _read_options(_name_of(function), given))
    if "timeout_ms" in given and operator.runs == "inline":
        advice = "nothing can stop a 'def' that runs inline: make it 'async def', or runs='thread' or 'process'"
        raise UsageError(f"timeout_ms of task {operator.name!r}", value=given["timeout_ms"], advice=advice)
    return operator


def _read_options(task_name: str, given: dict[str, Any]) -> Options:
    hints = get_type_hints(Options)
    for key in given:
        if key not in hints:
            raise UsageError(f"task {task_name!r} has no option", value=key, advice=advise_known(key, hints))
    for key in ("waits_ms", "retry_on", "disable"):
        if key in given and not isinstance(given[key], (list, tuple)):
            raise UsageError(f"{key} of task {task_name!r}", value=given[key], advice=f"give a list: {key}=[...]")
    if given.get("safety") and not given.get("on_error"):
        advice = "state on_error='fail_closed', 'fail' or another"
        raise UsageError(f"safety task {task_name!r} without on_error", advice=advice)
    stated = {key: value for key, value in given.items() if key != "on_error" or value}
    return Options(
        **{key: convert_value(f"{key} of task {task_name!r}", value, hints[key]) for key, value in stated.items()}
    )


def _name_of(function: object) -> str:
    return getattr(function, "__name__", None) or type(function).__name__


def _check_function(function: Any, options: Options) -> None:
    """Refuse what only looks like a task function; each of these would fail later and say less."""
    if isinstance(function, Operator):
        advice = "place it again with .use(name='...')"
        raise UsageError(f"@task on {function.name!r}, which is a task already", advice=advice)
    thing = f"@task on {_name_of(function)!r}"
    if isinstance(function, (staticmethod, classmethod)):
        raise UsageError(f"{thing}, a {type(function).__name__}", advice="make it a function of the module")
    if isinstance(function, type) or not callable(function) or not hasattr(function, "__name__"):
        advice = "a task is a function: write a 'def' that calls it; fixed values go to .use(...)"
        raise UsageError(f"{thing}, which is not a function", advice=advice)
    if function.__name__ == "<lambda>":
        raise UsageError(f"{thing}: a lambda has no annotations", advice="write it as a 'def'")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError(f"{thing}, which yields", advice="return one result, several values in a tuple of it")
    if inspect.iscoroutinefunction(inspect.unwrap(function)) and not inspect.iscoroutinefunction(function):
        advice = "let the decorator below @task define an 'async def' too"
        raise UsageError(f"{thing}: a decorator hides that it is async", advice=advice)
    if options.runs == "process" and "<locals>" in function.__qualname__:
        raise UsageError(f"{thing}: runs='process' needs a function of a module", advice="move it to module level")


def _read_anchors(thing: str, anchors: Any) -> tuple[Anchor, ...]:
    if isinstance(anchors, (str, Operator, Placement)) or not isinstance(anchors, Iterable):
        raise UsageError(thing, value=anchors, advice="give a list: [...]")
    return tuple(_read_anchor(thing, anchor) for anchor in anchors)


def _read_anchor(thing: str, anchor: Any) -> Anchor:
    if isinstance(anchor, (str, Operator, Placement)):
        return anchor
    if inspect.isroutine(anchor):
        raise UsageError(f"{thing} is not a task", value=anchor.__name__, advice="decorate it with @task")
    raise UsageError(f"{thing} is not a task", value=anchor, advice="give a task, what its use(...) gave, or a name")


def _read_bind(task_name: str, bind: Any) -> dict[str, Anchor]:
    if bind is None:
        return {}
    if not isinstance(bind, dict):
        advice = "give a dict: bind={'parameter': task}"
        raise UsageError(f"bind of task {task_name!r}", value=bind, advice=advice)
    return {key: _read_anchor(f"bind of task {task_name!r}", anchor) for key, anchor in bind.items()}


def _read_absent(task_name: str, absent: Any) -> tuple[type, ...]:
    if not isinstance(absent, (list, tuple)) or not all(isinstance(entry, type) for entry in absent):
        advice = "give a list of result types: absent=[Topics]"
        raise UsageError(f"absent of task {task_name!r}", value=absent, advice=advice)
    return tuple(absent)


def _decide_runs(name: str, function: Callable[..., Any], asked: Runs | None) -> Runs:
    is_async = inspect.iscoroutinefunction(function)
    if asked is None:
        return "async" if is_async else "inline"
    if is_async != (asked == "async"):
        advice = "'async def' goes with runs='async', 'def' with 'inline', 'thread' or 'process'"
        raise UsageError(f"runs of task {name!r} does not fit its function", value=asked, advice=advice)
    return asked


def _check_options(operator: Operator) -> None:
    options, name = operator.options, operator.name
    on_error, colon, state = options.on_error.partition(":")
    if on_error not in ON_ERROR:
        raise UsageError(f"on_error of task {name!r}", value=options.on_error, advice=advise_known(on_error, ON_ERROR))
    if colon and (on_error != "fail_closed" or not state):
        advice = "only fail_closed takes a state: 'fail_closed' or 'fail_closed:blocked'"
        raise UsageError(f"on_error of task {name!r}", value=options.on_error, advice=advice)
    if state:
        check_name(f"state in on_error of task {name!r}", state)
    check_name(f"revision of task {name!r}", options.revision)
    for key, value in (("attempts", options.attempts), ("timeout_ms", options.timeout_ms)):
        if value < 1:
            raise UsageError(f"{key} of task {name!r}", value=value, advice="use at least 1")
    if any(wait < 0 for wait in options.waits_ms) or (options.attempts > 1 and not options.waits_ms):
        advice = "use one pause or more of 0 ms or more, or attempts=1"
        raise UsageError(f"waits_ms of task {name!r}", value=options.waits_ms, advice=advice)
    for kind in options.retry_on:
        if not issubclass(kind, BaseException):
            raise UsageError(f"retry_on of task {name!r}", value=kind.__name__, advice="list exception types")
    has_effects = operator.mark is not None and operator.mark.has_effects
    if has_effects != options.sink:
        if options.sink:
            raise UsageError(f"sink {name!r} has no effects", advice="give its result a field 'effects'")
        raise UsageError(f"task {name!r} gives effects, but is no sink", advice="declare it with @task(sink=True)")
