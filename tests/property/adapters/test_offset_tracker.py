"""Whatever is fetched, completed and handed on in whatever order, what is committed is what a naive model says."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gristmill.adapters.kafka.core.metadata import TEXT_MAX, Progress, decode_progress, encode_progress
from gristmill.adapters.kafka.core.tracker import WINDOW, OffsetTracker

INDEXES = st.integers(0, WINDOW - 1)


@dataclass
class Model:
    """Every offset below `end` is open or done; what is not open was never there or is complete."""

    base: int = 0
    end: int = 0
    open_offsets: set[int] = field(default_factory=set)
    starts: dict[int, int] = field(default_factory=dict)

    def lowest_open(self) -> int:
        return min(self.open_offsets, default=self.end)


class TrackerMachine(RuleBasedStateMachine):
    """Drives a tracker and the model; `hand on` stands for a new owner of the partition."""

    def __init__(self) -> None:
        super().__init__()
        self.tracker = OffsetTracker(0)
        self.model = Model()
        self.refetch: list[int] = []
        """Offsets that a new owner fetches again, for it begins at the committed one."""
        self.known_open: set[int] = set()

    @rule(gap=st.integers(0, 3))
    @precondition(lambda self: not self.refetch)
    def fetch(self, gap: int) -> None:
        offset = self.model.end + gap
        assert self.tracker.on_fetched(offset)
        assert not self.tracker.on_fetched(offset)
        self.model.end = offset + 1
        self.model.open_offsets.add(offset)

    @rule()
    @precondition(lambda self: self.refetch)
    def fetch_again(self) -> None:
        offset = self.refetch.pop(0)
        assert self.tracker.on_fetched(offset) == (offset in self.model.open_offsets)
        assert self.tracker.starts_of(offset) == self.model.starts.get(offset, 0)

    @rule(data=st.data(), starts=st.integers(0, 5))
    @precondition(lambda self: self.model.open_offsets and not self.refetch)
    def start(self, data: st.DataObject, starts: int) -> None:
        offset = data.draw(st.sampled_from(sorted(self.model.open_offsets)))
        self.tracker.set_starts(offset, starts)
        self.model.starts[offset] = starts

    @rule(data=st.data())
    @precondition(lambda self: self.model.open_offsets and not self.refetch)
    def complete(self, data: st.DataObject) -> None:
        offset = data.draw(st.sampled_from(sorted(self.model.open_offsets)))
        assert self.tracker.complete(offset)
        assert not self.tracker.complete(offset)
        self.model.open_offsets.discard(offset)
        self.model.starts.pop(offset, None)

    @rule()
    @precondition(lambda self: not self.refetch)
    def hand_on(self) -> None:
        base, text, left_out = self.tracker.to_commit()
        assert (base, left_out) == (self.model.lowest_open(), 0)
        self.tracker = OffsetTracker(base, text)
        self.refetch = list(range(base, self.model.end))

    @invariant()
    def nothing_open_is_below_the_base(self) -> None:
        base, _, _ = self.tracker.to_commit()
        assert base <= self.model.lowest_open()
        if not self.refetch:
            assert base == self.model.lowest_open()
            assert self.tracker.open_count == len(self.model.open_offsets)


TestTracker = TrackerMachine.TestCase


@given(st.sets(INDEXES), st.dictionaries(INDEXES, st.integers(1, 255)))
def test_progress_comes_back_as_it_was_or_says_how_much_is_left_out(complete: set[int], starts: dict[int, int]) -> None:
    starts = {index: count for index, count in starts.items() if index not in complete}
    text, left_out = encode_progress(Progress(set(complete), dict(starts)))
    found = decode_progress(text)
    assert len(text) <= TEXT_MAX
    assert found.complete == complete
    assert found.starts.keys() == starts.keys()
    assert sum(found.starts[index] != count for index, count in starts.items()) == left_out


@given(st.text())
def test_a_text_of_somebody_else_tells_nothing_or_what_it_says(text: str) -> None:
    decode_progress(text)
