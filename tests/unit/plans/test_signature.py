"""What a task function asks for and gives is read from its annotations alone."""

import functools
from collections.abc import Callable
from typing import Annotated, Any, Generic, TypeVar, Union

import pytest
from msgspec import Struct

from gristmill import Cache, Done, Embedder, End, Item, Role, RunScope, Skip, kept, task
from gristmill.domain.errors import UsageError
from gristmill.plans.operator import Operator
from gristmill.plans.resources import Need
from tests.unit.plans import samples
from tests.unit.plans.samples import Language, Topics, Verdict, Words

T = TypeVar("T")


class Unmarked(Struct, frozen=True):
    n: int = 0


class MarkedParent(Struct, frozen=True):
    n: int = 0


kept(MarkedParent)


class UnmarkedChild(MarkedParent, frozen=True):
    m: int = 0


class Box(Struct, Generic[T], frozen=True):
    inside: T


def sources(operator: Operator) -> list[tuple[str, str, bool]]:
    return [(parameter.name, parameter.source, parameter.optional) for parameter in operator.parameters]


def test_parameters_before_the_star_are_item_results_resources_and_scope() -> None:
    assert sources(samples.judged) == [
        ("item", "item", False),
        ("judge", "resource", False),
        ("near", "resource", False),
        ("run", "scope", False),
    ]
    assert samples.judged.parameters[2].wanted == Need(Embedder, "semantic")


def test_optional_results_may_be_written_in_either_way() -> None:
    assert sources(samples.archive) == [("lang", "result", True), ("verdict", "result", True)]
    assert [parameter.wanted for parameter in samples.archive.parameters] == [Language, Verdict]


def test_strings_as_annotations_mean_the_same_as_types() -> None:
    def spelled(item: "Item", found: "Words | None") -> "Topics | Skip":
        return Topics()

    operator = task(spelled)
    assert sources(operator) == [("item", "item", False), ("found", "result", True)]
    assert operator.result is Topics
    assert operator.outcomes == {Skip}


def test_notes_of_other_readers_do_not_matter() -> None:
    def noted(item: Annotated[Item, "the post"], lang: Annotated[Language, "guessed"] | None) -> Annotated[Topics, 1]:
        return Topics()

    assert sources(task(noted)) == [("item", "item", False), ("lang", "result", True)]
    assert task(noted).result is Topics


def test_a_gate_gives_no_result() -> None:
    assert samples.gate.result is None
    assert samples.gate.mark is None
    assert samples.gate.outcomes == {Skip}


def test_outcomes_stand_beside_the_result() -> None:
    def ends(item: Item) -> Union[Topics, Skip, End]:  # noqa: UP007
        return Topics()

    assert task(ends).result is Topics
    assert task(ends).outcomes == frozenset((Skip, End))


def test_positional_only_parameters_and_wrapped_functions_work() -> None:
    def positional(item: Item, /, lang: Language) -> None: ...

    @functools.wraps(positional)
    def wrapped(*args: Any, **kwargs: Any) -> None: ...

    assert sources(task(positional)) == sources(task(wrapped))
    assert task(wrapped).name == "positional"


def configured(item: Item, *, least: int, share: float = 0.5, names: tuple[str, ...] = ()) -> None: ...


def test_parameters_after_the_star_are_configuration() -> None:
    operator = task(configured)
    assert operator.config_required == {"least"}
    assert operator.config_defaults == {"share": 0.5, "names": ()}
    assert operator.config_types == {"least": int, "share": float, "names": tuple[str, ...]}


def unannotated(item, lang: Language) -> None: ...  # type: ignore[no-untyped-def]
def method(self, item: Item) -> None: ...  # type: ignore[no-untyped-def]
def without_return(item: Item): ...  # type: ignore[no-untyped-def]
def configuration_in_front(item: Item, least: int) -> None: ...
def list_in_front(item: Item, names: list[str]) -> None: ...
def with_default(item: Item, least: int = 3) -> None: ...
def optional_item(item: Item | None) -> None: ...
def optional_scope(item: Item, run: RunScope | None) -> None: ...
def either(item: Item, found: Language | Words) -> None: ...
def unmarked(item: Item, found: Unmarked) -> None: ...
def child(item: Item, found: UnmarkedChild) -> None: ...
def generic(item: Item, found: Box[int]) -> None: ...
def anything(item: Item, found: Any) -> None: ...
def port_alone(item: Item, cache: Cache) -> None: ...
def port_with_text(item: Item, cache: Annotated[Cache, "dedupe"]) -> None: ...
def optional_port(item: Item, cache: Annotated[Cache | None, Role("dedupe")]) -> None: ...
def role_on_result(item: Item, lang: Annotated[Language, Role("safety")]) -> None: ...
def two_roles(item: Item, cache: Annotated[Cache, Role("one"), Role("two")]) -> None: ...
def many(*items: Item) -> None: ...
def named_many(item: Item, **rest: int) -> None: ...
def result_after_star(item: Item, *, lang: Language) -> None: ...
def optional_after_star(item: Item, *, lang: Language | None = None) -> None: ...
def port_after_star(item: Item, *, cache: Annotated[Cache, Role("dedupe")]) -> None: ...
def word_of_use(item: Item, *, after: int = 0) -> None: ...
def mutable_default(item: Item, *, names: list[str] = []) -> None: ...  # noqa: B006
def unknown_name(item: Item, found: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821
def gives_int(item: Item) -> int: ...  # type: ignore[empty-body]
def gives_unmarked(item: Item) -> Unmarked: ...  # type: ignore[empty-body]
def gives_tuple(item: Item) -> tuple[Language, Topics]: ...  # type: ignore[empty-body]
def gives_either(item: Item) -> Language | Topics: ...  # type: ignore[empty-body]
def gives_done(item: Item) -> Done: ...  # type: ignore[empty-body]
def gives_nothing_sometimes(item: Item) -> Topics | None: ...


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (unannotated, "parameter 'item' of task 'unannotated' has no annotation"),
        (method, "a task is a function of a module, not a method"),
        (without_return, "task 'without_return' has no return annotation (e.g. '-> Topics | Skip'"),
        (configuration_in_front, "parameter 'least' of task 'configuration_in_front': 'int' (configuration goes after"),
        (list_in_front, "'list[str]' (configuration goes after '*')"),
        (with_default, "parameter 'least' of task 'with_default' has a default: 3 (configuration goes after '*'"),
        (optional_item, "'Item | None' (it is always there, drop '| None')"),
        (optional_scope, "'RunScope | None' (it is always there, drop '| None')"),
        (either, "'Language | Words' (one type a parameter; take two parameters, each 'X | None')"),
        (unmarked, "'Unmarked' (mark a frozen Struct with @cell('name'), @kept or @transient)"),
        (child, "'UnmarkedChild' (a mark is not inherited"),
        (generic, "'Box[int]'"),
        (anything, "'Any' (use Item, a marked result, Annotated[port, Role('...')] or RunScope"),
        (port_alone, "'Cache' (say which one by its role: Annotated[Cache, Role('...')])"),
        (port_with_text, "say which one by its role: Annotated[Cache, Role('...')]"),
        (optional_port, "a port is always there, never '| None'"),
        (role_on_result, "parameter 'lang' of task 'role_on_result' has a role, but no port: 'Language'"),
        (two_roles, "has several roles: ['one', 'two'] (give it one)"),
        (many, "task 'many' takes variable arguments: 'items' (write each one out)"),
        (named_many, "task 'named_many' takes variable arguments: 'rest'"),
        (result_after_star, "configuration 'lang' of task 'result_after_star' is filled by a run: 'Language' (put it"),
        (optional_after_star, "configuration 'lang' of task 'optional_after_star' is filled by a run"),
        (port_after_star, "configuration 'cache' of task 'port_after_star' is filled by a run"),
        (word_of_use, "configuration 'after' of task 'word_of_use' is a word of use(...) (give it another name)"),
        (mutable_default, "configuration 'names' of task 'mutable_default' has a mutable default: [] (all runs"),
        (
            unknown_name,
            "annotation of task 'unknown_name' cannot be resolved: \"name 'Nowhere' is not defined\" (import",
        ),
        (gives_int, "return type of task 'gives_int' is not a result: 'int'"),
        (gives_unmarked, "'Unmarked' (mark a frozen Struct with @cell('name'), @kept or @transient)"),
        (gives_tuple, "'tuple[Language, Topics]' (a result is one Struct: put the values into its fields"),
        (gives_either, "task 'gives_either' has several result types: 'Language | Topics' (one result type, put"),
        (gives_done, "task 'gives_done' returns Done (name the result type itself)"),
        (gives_nothing_sometimes, "say '-> Topics | Skip' and return Skip('why') where there is no result"),
    ],
)
def test_a_signature_that_cannot_work_is_refused_with_a_way_out(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        task(function)
    assert said in str(caught.value)


@pytest.mark.parametrize("name", ["", "two words", "a/b"])
def test_a_role_has_a_name(name: str) -> None:
    with pytest.raises(UsageError, match="name of a role"):
        Role(name)
