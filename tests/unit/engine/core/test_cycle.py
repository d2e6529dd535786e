from gristmill.engine.core.cycle import Cycle

S = 1_000


def test_waits_double_to_the_top_and_start_again_from_the_bottom() -> None:
    waits = [Cycle(swing=0).compute_delay_ms(failures, draw=0.9) for failures in range(1, 12)]
    assert waits == [1 * S, 2 * S, 4 * S, 8 * S, 16 * S, 32 * S, 64 * S, 128 * S, 256 * S, 1 * S, 2 * S]


def test_the_draw_places_a_wait_within_the_swing() -> None:
    cycle = Cycle()
    assert [cycle.compute_delay_ms(4, draw=draw) for draw in (0.0, 0.5, 1.0)] == [6_400, 8_000, 9_600]


def test_a_factor_of_one_never_grows() -> None:
    assert {Cycle(base_ms=5, factor=1, swing=0).compute_delay_ms(failures, draw=0) for failures in range(1, 9)} == {5}


def test_a_top_between_two_steps_is_not_reached() -> None:
    cycle = Cycle(base_ms=1, top_ms=7, swing=0)
    assert [cycle.compute_delay_ms(failures, draw=0) for failures in range(1, 6)] == [1, 2, 4, 1, 2]
