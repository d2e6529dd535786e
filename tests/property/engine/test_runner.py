"""What a Runner decides holds for every order of events."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gristmill.domain.log import Delivery, Lease
from gristmill.domain.outcome import Done, Fail, Outcome, Retry
from gristmill.engine.runner.core.breaker import Breaker
from gristmill.engine.runner.core.verdict import Accept, Budget, Bury, GiveBack, decide_end, decide_start
from gristmill.engine.runner.core.waiting import WaitingRecords

DELAYS_MS = (5_000, 60_000, 600_000)
KEYS = st.sampled_from(["", "a", "b", "c"])


def deliver(offset: int, key: str, attempt: int = 1) -> Delivery:
    return Delivery(Lease("t", "g", offset, "me", attempt), b"", key, {}, attempt, 0)


class KeyOrder(RuleBasedStateMachine):
    """Records of one log against a naive model: each is waiting, running, away or done."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = WaitingRecords("key", grace_ms=1 << 40, held_per_key_max=3, held_max=6)
        self.places: dict[int, str] = {}
        self.keys: dict[int, str] = {}

    @rule(key=KEYS)
    def arrive(self, key: str) -> None:
        offset = len(self.keys) + 1
        self.keys[offset] = key
        self._add(offset)

    @precondition(lambda self: "away" in self.places.values())
    @rule(data=st.data())
    def come_again(self, data: st.DataObject) -> None:
        self._add(data.draw(st.sampled_from([offset for offset, place in self.places.items() if place == "away"])))

    @rule()
    def begin(self) -> None:
        delivery = self.waiting.take(now_ms=0)
        may_begin = {offset for offset, place in self.places.items() if place == "waiting" and self._may(offset)}
        if delivery is None:
            assert not may_begin
            return
        assert delivery.lease.offset in may_begin
        self.places[delivery.lease.offset] = "running"

    @precondition(lambda self: "running" in self.places.values())
    @rule(data=st.data(), comes_again=st.booleans())
    def end(self, data: st.DataObject, comes_again: bool) -> None:
        offset = data.draw(st.sampled_from([offset for offset, place in self.places.items() if place == "running"]))
        self.waiting.end(deliver(offset, self.keys[offset]), due_at_ms=5 if comes_again else None)
        self.places[offset] = "away" if comes_again else "done"

    @precondition(lambda self: "waiting" in self.places.values())
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        offset = data.draw(st.sampled_from([offset for offset, place in self.places.items() if place == "waiting"]))
        assert self.waiting.drop(deliver(offset, self.keys[offset]))
        self.places[offset] = "done"

    @rule()
    def hand_back(self) -> None:
        taken = {one.lease.offset for one in self.waiting.take_all(due_at_ms=9)}
        assert taken == {offset for offset, place in self.places.items() if place == "waiting"}
        for offset in taken:
            self.places[offset] = "away"

    @invariant()
    def as_many_are_ready_as_may_begin(self) -> None:
        may_begin = [offset for offset, place in self.places.items() if place == "waiting" and self._may(offset)]
        keyed = {self.keys[offset] for offset in may_begin} - {""}
        assert self.waiting.ready_count == len(keyed) + sum(not self.keys[offset] for offset in may_begin)

    def _add(self, offset: int) -> None:
        key = self.keys[offset]
        delay_ms = self.waiting.add(deliver(offset, key), now_ms=0)
        held = [one for one, place in self.places.items() if place == "waiting" and self.keys[one]]
        is_full = len([one for one in held if self.keys[one] == key]) >= 3 or len(held) >= 6
        assert (delay_ms is not None) == (bool(key) and is_full)
        self.places[offset] = "waiting" if delay_ms is None else "away"

    def _may(self, offset: int) -> bool:
        """Whether nothing of its key is at work, and nothing earlier of it is open."""
        key = self.keys[offset]
        others = {one: place for one, place in self.places.items() if self.keys[one] == key and place != "done"}
        return not key or ("running" not in others.values() and min(others) == offset)


TestKeyOrder = KeyOrder.TestCase
TestKeyOrder.settings = settings(max_examples=60, stateful_step_count=40)

OUTCOMES = st.one_of(
    st.none(),
    st.builds(Done),
    st.builds(Fail, st.text()),
    st.builds(Retry, st.integers(0, 10**7), counted=st.booleans()),
)
FATES = st.lists(st.one_of(OUTCOMES, st.just("death")), min_size=20, max_size=30)


@given(attempts=st.integers(1, 5), fates=FATES, draw=st.floats(0, 1, exclude_max=True))
def test_P8_a_record_is_run_as_often_as_allowed_deaths_included(
    attempts: int, fates: list[Outcome | str | None], draw: float
) -> None:
    budget = Budget(attempts, DELAYS_MS, 0.2, 1_000)
    delivered = runs = 0
    for fate in fates:
        delivered += 1
        if decide_start(deliver(1, "", delivered), budget) is not None:
            assert runs == attempts
            return
        runs += 1
        if fate == "death":
            continue
        verdict = decide_end(fate, delivered, budget, error_class="", draw=draw, now_ms=0)
        match verdict:
            case GiveBack(counted=False):
                delivered, runs = delivered - 1, runs - 1
            case GiveBack():
                assert delivered < attempts
                assert verdict.delay_ms > 0
            case Bury():
                assert isinstance(fate, Fail) or delivered == attempts
                return
            case Accept():
                return
    assert runs <= attempts


@given(attempt=st.integers(1, 10), draw=st.floats(0, 1, exclude_max=True))
def test_a_delay_stays_within_its_swing(attempt: int, draw: float) -> None:
    middle_ms = DELAYS_MS[min(attempt, 3) - 1]
    delay_ms = Budget(3, DELAYS_MS, 0.2, 1_000).compute_delay_ms(attempt, draw=draw)
    assert 0.8 * middle_ms <= delay_ms <= 1.2 * middle_ms


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3_000)), max_size=80))
def test_a_breaker_is_open_exactly_from_the_fifth_failure_in_a_row_to_the_next_answer(
    events: list[tuple[bool, int]],
) -> None:
    breaker, in_a_row, now_ms, claims_ms = Breaker(), 0, 0, [-1 << 40]
    for is_down, pause_ms in events:
        now_ms += pause_ms
        limit = breaker.limit(10, now_ms=now_ms)
        assert breaker.is_open == (in_a_row >= 5)
        assert limit == 10 if not breaker.is_open else limit in (0, 1)
        assert (limit > 0) == (breaker.due_in_ms(now_ms=now_ms) == 0)
        if breaker.is_open and limit:
            assert now_ms - claims_ms[-1] >= 5_000
            claims_ms.append(now_ms)
            breaker.on_claimed(now_ms=now_ms)
        if is_down:
            in_a_row += 1
            assert breaker.on_dependency_down(now_ms=now_ms) == (in_a_row == 5)
        else:
            assert breaker.on_answer() == (in_a_row >= 5)
            in_a_row, claims_ms = 0, [-1 << 40]
