"""Messages about unknown names point to the nearest known one."""

from gristmill.plans.names import SHOWN_NAMES_MAX, advise_known


def test_the_nearest_name_comes_first() -> None:
    assert advise_known("scren", ["upa", "screen"]) == "did you mean 'screen'? known: screen, upa"


def test_upper_and_lower_case_are_alike() -> None:
    assert advise_known("SCREEN", ["screen"]) == "did you mean 'screen'? known: screen"


def test_a_far_name_is_not_guessed_and_no_name_is_said() -> None:
    assert advise_known("zebra", ["screen"]) == "known: screen"
    assert advise_known("zebra", []) == "known: none"


def test_a_long_list_is_cut() -> None:
    names = [f"n{number:03}" for number in range(SHOWN_NAMES_MAX + 5)]
    assert advise_known("zebra", names).endswith("n039 and 5 more")
