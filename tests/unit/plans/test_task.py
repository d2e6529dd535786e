"""`@task` takes functions and options that make sense together, and says what is wrong with the others."""

import asyncio
import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec import Struct

from gristmill import Effect, Item, Park, Situation, kept, task
from gristmill.domain.errors import UsageError
from gristmill.plans.operator import Operator
from tests.unit.plans import samples
from tests.unit.plans.samples import Language


@kept
class Sent(Struct, frozen=True):
    effects: tuple[Effect, ...] = ()


class Callables:
    def method(self, item: Item) -> None: ...

    @staticmethod
    def static(item: Item) -> None: ...

    @classmethod
    def of_class(cls, item: Item) -> None: ...

    def __call__(self, item: Item) -> None: ...


def plain(item: Item) -> None: ...


async def waits(item: Item) -> None: ...


def yields(item: Item) -> Iterator[None]:
    yield


def sends(item: Item) -> Sent:
    return Sent()


def parks(item: Item) -> Park | None:
    return None


@functools.wraps(waits)
def hides(*args: Any, **kwargs: Any) -> Any:
    return waits(*args, **kwargs)


def declare(function: Callable[..., Any], **options: Any) -> Operator:
    """Decorate with options that a type checker would already refuse."""
    return task(**options)(function)


def test_a_task_is_still_the_function_that_it_was() -> None:
    assert samples.language(Item(item_id=1, text="hello")) == Language("en")  # type: ignore[arg-type]
    assert samples.archive.__doc__ == "A task at the end that only takes what may be missing."
    assert repr(samples.language) == "<task language revision 1>"


def test_defaults_follow_from_the_function() -> None:
    assert (task(plain).runs, task(waits).runs) == ("inline", "async")
    assert (task(plain).options.attempts, task(plain).options.waits_ms) == (2, (1_000,))
    assert task(plain).options.on_error == "fail"


def test_lists_of_options_are_taken_as_they_come() -> None:
    def weekend(situation: Situation) -> str | None:
        return "weekend" if situation.environment == "prod" else None

    operator = declare(waits, attempts=3, waits_ms=[10, 20], retry_on=[OSError], timeout_ms=50, disable=[weekend])
    options = operator.options
    assert (options.waits_ms, options.retry_on, options.disable) == ((10, 20), (OSError,), (weekend,))


def test_an_asynchronous_task_can_be_awaited() -> None:
    assert asyncio.run(task(waits)(Item(item_id=1))) is None  # type: ignore[arg-type]


def test_what_needs_a_durable_run_says_so() -> None:
    assert task(parks).needs_durable
    assert declare(plain, on_error="park").needs_durable
    assert declare(plain, on_error="hold").needs_durable
    assert not declare(plain, on_error="fail_closed:blocked", safety=True).needs_durable


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda item: None, "a lambda has no annotations (write it as a 'def')"),
        (Callables.method, "parameter 'self' of task 'method' has no annotation (a task is a function of a module"),
        (Callables.__dict__["static"], "@task on 'static', a staticmethod (make it a function of the module)"),
        (Callables.__dict__["of_class"], "@task on 'of_class', a classmethod"),
        (Callables(), "@task on 'Callables', which is not a function (a task is a function: write a 'def'"),
        (Callables, "@task on 'Callables', which is not a function"),
        (functools.partial(plain), "fixed values go to .use(...)"),
        (3, "@task on 'int', which is not a function"),
        (samples.language, "@task on 'language', which is a task already (place it again with .use(name='...'))"),
        (yields, "@task on 'yields', which yields (return one result"),
        (hides, "@task on 'waits': a decorator hides that it is async"),
    ],
)
def test_what_only_looks_like_a_function_is_refused(function: Any, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        task(function)
    assert said in str(caught.value)


def test_bound_methods_and_static_methods_of_a_class_are_functions_enough() -> None:
    assert task(Callables().method).name == "method"
    assert task(Callables.static).name == "static"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"on_eror": "skip"}, "task 'plain' has no option: 'on_eror' (did you mean 'on_error'? known: attempts,"),
        ({"on_error": "fail-closed"}, "on_error of task 'plain': 'fail-closed' (did you mean 'fail_closed'?"),
        ({"on_error": "skip:now"}, "only fail_closed takes a state"),
        ({"on_error": "fail_closed:"}, "only fail_closed takes a state"),
        ({"on_error": "fail_closed:two words"}, "state in on_error of task 'plain': 'two words'"),
        ({"safety": True}, "safety task 'plain' without on_error (state on_error='fail_closed'"),
        ({"runs": "threads"}, "runs of task 'plain': 'threads' (did you mean 'thread'? known: async, inline, process"),
        ({"runs": "async"}, "'async def' goes with runs='async', 'def' with 'inline', 'thread' or 'process'"),
        ({"attempts": 0}, "attempts of task 'plain': 0 (use at least 1)"),
        ({"attempts": "3"}, "attempts of task 'plain': '3' (Expected int, got str)"),
        ({"waits_ms": 5}, "waits_ms of task 'plain': 5 (give a list: waits_ms=[...])"),
        ({"waits_ms": []}, "use one pause or more of 0 ms or more, or attempts=1"),
        ({"waits_ms": [-1]}, "waits_ms of task 'plain': (-1,)"),
        ({"retry_on": ValueError}, "give a list: retry_on=[...]"),
        ({"retry_on": [int]}, "retry_on of task 'plain': 'int' (list exception types)"),
        ({"retry_on": ["ValueError"]}, "retry_on of task 'plain'"),
        ({"disable": len}, "give a list: disable=[...]"),
        ({"disable": [3]}, "disable of task 'plain': [3]"),
        ({"timeout_ms": 50}, "nothing can stop a 'def' that runs inline"),
        ({"timeout_ms": 0.5, "runs": "thread"}, "timeout_ms of task 'plain': 0.5 (Expected int, got float)"),
        ({"timeout_ms": 0, "runs": "thread"}, "timeout_ms of task 'plain': 0 (use at least 1)"),
        ({"name": "two words"}, "name of a task: 'two words' (' ' cannot stand in a name"),
        ({"name": "n" * 121}, "use a text of 1 to 120 characters"),
        ({"revision": 2}, "revision of task 'plain': 2 (Expected str, got int)"),
        ({"revision": ""}, "revision of task 'plain': ''"),
        ({"sink": True}, "sink 'plain' has no effects (give its result a field 'effects')"),
    ],
)
def test_an_option_that_cannot_work_is_refused_with_a_way_out(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        declare(plain, **options)
    assert said in str(caught.value)


def test_only_sinks_give_effects() -> None:
    assert declare(sends, sink=True).options.sink
    with pytest.raises(UsageError, match="task 'sends' gives effects, but is no sink"):
        task(sends)


def test_a_task_for_another_process_stands_in_a_module() -> None:
    def local(item: Item) -> None: ...

    assert declare(plain, runs="process").runs == "process"
    with pytest.raises(UsageError, match="runs='process' needs a function of a module"):
        declare(local, runs="process")
