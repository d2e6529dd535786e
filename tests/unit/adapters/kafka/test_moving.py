"""What moving a group within a partition counts."""

import pytest

from gristmill.adapters.kafka.core.moving import count_move


@pytest.mark.parametrize(
    ("complete", "low", "target", "expected"),
    [
        (set(), 0, 10, (0, 0)),
        (set(), 0, 4, (6, 0)),
        (set(), 7, 4, (3, 0)),
        (set(), 0, 15, (0, 5)),
        ({12, 14}, 0, 15, (0, 3)),
        ({12, 14}, 0, 13, (1, 2)),
        ({12, 14}, 0, 8, (4, 0)),
    ],
)
def test_a_move_counts_what_comes_again_and_what_is_skipped(
    complete: set[int], low: int, target: int, expected: tuple[int, int]
) -> None:
    assert count_move(base=10, complete=complete, low=low, target=target) == expected
