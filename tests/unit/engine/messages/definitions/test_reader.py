import pytest

from gristmill.domain.errors import ConfigError
from gristmill.engine.messages.core.routes import ATTEMPTS, Route
from gristmill.engine.messages.definitions.reader import read_routes

WHOLE = """
routes: comments
types:
  comment.published:
    plans: [screen, screen]
    stale: drop
  comment.heated: {plans: [screen, review], tier: urgent, order: none, attempts: 5}
"""


def test_a_file_is_read() -> None:
    routes = read_routes(WHOLE, file="r.yaml")
    assert routes.business == "comments"
    assert routes.routes == (
        Route("comment.published", "comments", "normal", ("screen",), "key", True, ATTEMPTS),
        Route("comment.heated", "comments", "urgent", ("screen", "review"), "none", False, 5),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "r.yaml: has no keys"),
        ("routes: [", "no valid YAML"),
        ("types: {a: {plans: [x]}}", "routes: is missing"),
        ("routes: a b\ntypes: {a: {plans: [x]}}", "r.yaml:1: routes: is 'a b'"),
        ("routes: a", "types: is missing or empty"),
        ("routes: a\ntypes: {}", "types: is missing or empty"),
        ("routes: a\ntypse: {}\ntypes: {a: {plans: [x]}}", "r.yaml:2: typse: is not known here"),
        ("routes: a\ntypes:\n  t: [x]", "r.yaml:3: t: has no keys"),
        ("routes: a\ntypes:\n  5: {plans: [x]}", "r.yaml:3: 5: is 5"),
        ("routes: a\ntypes:\n  t: {plans: [x], tire: bulk}", "did you mean 'tier'"),
        ("routes: a\ntypes:\n  t: {plans: [x], tier: urgnt}", "did you mean 'urgent'"),
        ("routes: a\ntypes:\n  t: {plans: [x], order: time}", "order: is 'time'"),
        ("routes: a\ntypes:\n  t: {plans: [x], stale: yes}", "stale: is True"),
        ("routes: a\ntypes:\n  t: {tier: bulk}", "plans: is missing"),
        ("routes: a\ntypes:\n  t: {plans: []}", "plans: is missing or no list"),
        ("routes: a\ntypes:\n  t: {plans: [a b]}", "plans: is 'a b'"),
        ("routes: a\ntypes:\n  t: {plans: [x], attempts: 0}", "attempts: is 0"),
        ("routes: a\ntypes:\n  t: {plans: [x], attempts: true}", "attempts: is True"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_routes(text, file="r.yaml")
    assert said in str(caught.value)
