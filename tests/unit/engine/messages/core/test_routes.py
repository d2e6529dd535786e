import msgspec
import pytest

from gristmill.domain.errors import ConfigError
from gristmill.engine.messages.core.envelope import Envelope
from gristmill.engine.messages.core.fan_out import Ended, TryAgain, decide_fan_out, plans_left
from gristmill.engine.messages.core.routes import Route, Routes, RoutingTable, UnknownType

PUBLISHED = Route("comment.published", "comments", "normal", ("screen",))
HEATED = Route("comment.heated", "comments", "urgent", ("screen", "review"))
TABLE = RoutingTable([Routes("comments", (PUBLISHED, HEATED))])


def test_a_route_says_topic_and_tier() -> None:
    envelope = Envelope(id="1", type="comment.heated", tier="bulk", attempt=9, progress={"screen": "done"})
    route, prepared = TABLE.prepare(envelope, now_ms=5)
    assert (route.topic, prepared.tier, prepared.at_ms) == ("messages.comments.urgent", "urgent", 5)
    assert (prepared.attempt, prepared.progress) == (1, {})
    assert TABLE.prepare(msgspec.structs.replace(envelope, at_ms=3), now_ms=5)[1].at_ms == 3


def test_an_unknown_type_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(UnknownType, match=r"'comment\.publishd' \(did you mean 'comment\.published'"):
        TABLE.find("comment.publishd")


def test_urgent_topics_come_first() -> None:
    assert list(TABLE.by_topic()) == ["messages.comments.urgent", "messages.comments.normal"]
    assert (TABLE.types, TABLE.plans()) == (["comment.heated", "comment.published"], {"screen", "review"})


def test_a_type_has_one_route() -> None:
    other = msgspec.structs.replace(PUBLISHED, business="posts")
    with pytest.raises(ConfigError, match="one in 'comments' and one in 'posts'"):
        RoutingTable([Routes("comments", (PUBLISHED,)), Routes("posts", (other,))])


def test_only_plans_without_a_final_outcome_are_called_again() -> None:
    progress = {"a": "done", "b": "failed", "c": "rejected", "d": "not_applicable"}
    assert plans_left(("a", "b", "c", "d", "e"), progress) == ["b", "e"]


def test_a_record_has_ended_when_every_plan_has() -> None:
    ended = decide_fan_out({"a": "done", "b": "failed"}, {"b": "rejected"})
    assert ended == Ended({"a": "done", "b": "rejected"})


def test_one_failed_plan_has_the_record_tried_again() -> None:
    decided = decide_fan_out({}, {"a": "done", "b": ValueError("no")})
    assert isinstance(decided, TryAgain)
    assert decided.progress == {"a": "done", "b": "failed"}
    assert decided.reason == "b: ValueError: no"
