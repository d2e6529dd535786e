"""What becomes of a child that died."""

from gristmill.runtime.processes.supervision_core import GiveUp, Restart, Supervision


def test_each_death_doubles_the_pause_and_the_fifth_in_ten_minutes_ends_the_group() -> None:
    supervision = Supervision()
    decisions = [supervision.on_death("engine-1", now_ms=number * 1_000) for number in range(5)]
    assert decisions == [Restart(1_000), Restart(2_000), Restart(4_000), Restart(8_000), GiveUp(5)]


def test_deaths_of_others_and_of_long_ago_do_not_count() -> None:
    supervision = Supervision()
    for number in range(4):
        supervision.on_death("engine-1", now_ms=number)
    assert supervision.on_death("engine-2", now_ms=4) == Restart(1_000)
    assert supervision.on_death("engine-1", now_ms=600_003) == Restart(1_000)
