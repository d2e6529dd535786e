"""Each anomaly, planted into a sound history, is found; nothing else is."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gristmill.adapters.recording.events import EventKind
from gristmill.testing.clock import FakeClock
from gristmill.testing.history import (
    Anomaly,
    Bounds,
    HistoryEvent,
    HistoryRecorder,
    check_fold,
    check_history,
    read_history,
)

BOUNDS = Bounds(attempts_max=3, reclaim_ms=1_000, wedge_ms=5_000)


def event(kind: EventKind, at_ms: int, offset: int = 1, **fields: int | str) -> HistoryEvent:
    group = "" if kind == "publish" else "g"
    return HistoryEvent(kind=kind, at_ms=at_ms, topic="t", group=group, offset=offset, **fields)  # type: ignore[arg-type]


def deliver(at_ms: int, offset: int = 1, *, attempt: int = 1, owner: str = "a") -> HistoryEvent:
    return event("deliver", at_ms, offset, attempt=attempt, fence=attempt, owner=owner, until_ms=at_ms + 300)


def effect(at_ms: int, offset: int = 1, *, fence: int = 1, version: int = 1, key: str = "") -> HistoryEvent:
    return event("effect", at_ms, offset, fence=fence, item="i", version=version, key=key or f"{offset}/{version}")


def kinds(*events: HistoryEvent) -> list[str]:
    return [anomaly.kind for anomaly in check_history(events, BOUNDS)]


def test_a_sound_history_has_no_anomaly() -> None:
    story = [
        event("publish", 0, 1),
        event("publish", 0, 2),
        event("publish", 0, 3),
        deliver(10, 1),
        effect(20, 1),
        event("accept", 30, 1),
        deliver(40, 2, owner="a"),
        HistoryEvent(kind="crash", at_ms=50, owner="a"),
        event("expire", 60, 2, owner="a"),
        deliver(70, 2, attempt=2, owner="b"),
        effect(80, 2, fence=2, version=2),
        event("accept", 90, 2),
        deliver(100, 3, owner="b"),
        event("dead", 110, 3),
        event("commit", 120, 3),
        event("requeue", 130, 3),
        event("waiting", 140, 3),
    ]
    assert kinds(*story) == []


def test_an_empty_history_has_no_anomaly() -> None:
    assert kinds() == []


def test_a_record_without_an_end_is_lost() -> None:
    assert kinds(event("publish", 0), deliver(10)) == ["lost"]


def test_a_record_that_one_of_two_groups_missed_is_lost() -> None:
    other = HistoryEvent(kind="accept", at_ms=2, topic="t", group="other", offset=9)
    story = [event("publish", 0), event("publish", 0, 9), deliver(1), event("accept", 2), event("accept", 2, 9), other]
    assert kinds(*story) == ["lost"]


def test_a_requeued_record_must_end_again() -> None:
    assert kinds(event("publish", 0), deliver(1), event("dead", 2), event("requeue", 3)) == ["lost"]


def test_an_effect_without_a_publish_is_a_phantom() -> None:
    assert kinds(effect(1)) == ["phantom"]


def test_the_same_effect_twice_is_a_double() -> None:
    story = [event("publish", 0), deliver(1), effect(2, key="k"), effect(3, key="k"), event("accept", 4)]
    assert kinds(*story) == ["double effect"]


def test_a_write_below_the_highest_fence_is_stale() -> None:
    story = [event("publish", 0), deliver(1), deliver(400, attempt=2, owner="b"), effect(410, fence=1)]
    assert kinds(*story, event("accept", 420)) == ["stale write"]


def test_an_end_below_the_highest_fence_is_a_stale_write() -> None:
    story = [event("publish", 0), deliver(1), deliver(400, attempt=2, owner="b")]
    assert kinds(*story, event("accept", 410, fence=1)) == ["stale write"]
    assert kinds(*story, event("accept", 410, fence=2)) == []


def test_a_write_is_stale_only_if_it_was_asked_for_after_the_next_holder_was_known() -> None:
    story = [event("publish", 0), deliver(1), deliver(400, attempt=2, owner="b")]
    for kind in ("effect", "accept"):
        end = event("accept", 430, fence=2)
        under_way = event(kind, 420, fence=1, owner="a", asked_at_ms=400)
        assert kinds(*story, under_way, end) == []
        assert kinds(*story, msgspec.structs.replace(under_way, asked_at_ms=401), end) == ["stale write"]


def test_where_the_log_is_apart_a_late_holder_may_write_until_the_state_is_told() -> None:
    story = [event("publish", 0), deliver(1), deliver(400, attempt=2, owner="b")]
    late, told = effect(410, fence=1), event("fence", 420, fence=2)
    apart = msgspec.structs.replace(BOUNDS, is_log_apart=True)
    end = event("accept", 430, fence=2)
    assert check_history([*story, late, told, end], apart) == []
    assert [one.kind for one in check_history([*story, told, late, end], apart)] == ["stale write"]


def test_a_report_before_the_end_is_early() -> None:
    story = [event("publish", 0), deliver(1)]
    assert kinds(*story, event("report", 2), event("accept", 3)) == ["early report"]
    assert kinds(*story, event("accept", 2), event("report", 3)) == []


def test_a_lease_taken_before_its_end_is_a_false_reclaim() -> None:
    story = [event("publish", 0), deliver(1), event("renew", 200, owner="a", until_ms=500)]
    assert kinds(*story, event("expire", 499, owner="a"), event("waiting", 600)) == ["false reclaim"]
    assert kinds(*story, event("expire", 500, owner="a"), event("waiting", 600)) == []


@pytest.mark.parametrize(("again_at_ms", "expected"), [(1_010, []), (1_011, ["late reclaim"])])
def test_what_a_dead_owner_held_must_come_back_in_time(again_at_ms: int, expected: list[str]) -> None:
    crash = HistoryEvent(kind="crash", at_ms=10, owner="a")
    story = [event("publish", 0), deliver(1), crash, deliver(again_at_ms, attempt=2, owner="b")]
    assert kinds(*story, event("accept", again_at_ms)) == expected


@pytest.mark.parametrize(("again_at_ms", "expected"), [(5_000, []), (5_001, ["late reclaim"])])
def test_while_nobody_runs_nobody_can_reclaim(again_at_ms: int, expected: list[str]) -> None:
    crash, boot = event("crash", 10, owner="a"), event("boot", 4_000)
    again = deliver(again_at_ms, attempt=2, owner="b")
    assert kinds(event("publish", 0), deliver(1), crash, boot, again, event("accept", again_at_ms)) == expected


def test_what_never_comes_back_is_a_late_reclaim() -> None:
    crash = HistoryEvent(kind="crash", at_ms=10, owner="a")
    assert kinds(event("publish", 0), deliver(1), crash, event("waiting", 1_011)) == ["late reclaim"]


def test_a_commit_over_an_open_record_is_a_gap() -> None:
    story = [event("publish", 0, 1), event("publish", 0, 2), deliver(1, 1), deliver(1, 2), event("accept", 2, 2)]
    assert kinds(*story, event("commit", 3, 2), event("accept", 4, 1)) == ["gap"]


def test_a_commit_that_goes_back_is_a_regress() -> None:
    story = [event("publish", 0, 1), event("publish", 0, 2), event("accept", 1, 1), event("accept", 1, 2)]
    assert kinds(*story, event("commit", 2, 2), event("commit", 3, 1)) == ["regress"]


def test_an_old_version_after_a_newer_one_is_an_inversion() -> None:
    story = [event("publish", 0), deliver(1), effect(2, version=2), effect(3, version=1), event("accept", 4)]
    assert kinds(*story) == ["inversion"]


def test_one_attempt_too_many_is_immortal() -> None:
    assert kinds(event("publish", 0), deliver(1, attempt=4), event("dead", 2)) == ["immortal"]


def test_silence_while_a_record_is_open_is_a_wedge() -> None:
    assert kinds(event("publish", 0), deliver(1), event("accept", 5_002)) == ["wedge"]
    assert kinds(event("publish", 0), deliver(1), event("accept", 2), event("commit", 9_999)) == []


def test_a_table_must_be_what_its_events_add_up_to() -> None:
    assert check_fold({"a": 1, "b": 2}, {"a": 1, "b": 2}) == []
    found = check_fold({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4})
    assert [(anomaly.kind, anomaly.promise) for anomaly in found] == [("fold divergence", "P13")] * 2


def test_an_anomaly_names_promise_and_event() -> None:
    [anomaly] = check_history([event("publish", 0), deliver(1, attempt=9), event("dead", 2)], BOUNDS)
    assert anomaly == Anomaly("immortal", "('t', 'g', 1): attempt 9 of 3", 1)
    assert anomaly.promise == "P8"


def test_recorders_share_a_file_and_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    one, two = (HistoryRecorder(path, process=name, clock=FakeClock()) for name in ("one", "two"))
    one.record("publish", topic="t", offset=1)
    two.record("deliver", topic="t", group="g", offset=1, owner="two", fence=1)
    one.close()
    two.close()
    with path.open("ab") as file:
        file.write(b'{"kind":"acc')
    assert [(event.kind, event.process) for event in read_history(path)] == [("publish", "one"), ("deliver", "two")]
