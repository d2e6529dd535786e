"""A finished project holds no note to self, no place of one machine and no number of a tracker."""

import re

from tests.tidy.tree import report, tracked_files

# Put together from pieces, so that this file does not find itself.
NOTE_TO_SELF = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" * 3]) + r")\b")
MACHINE_PATH = re.compile(r"(?<![\w.])/" + r"(work|tmp|root|home)/\w")
TRACKER_NUMBER = re.compile(r"\bissue #?\d+", re.IGNORECASE)


def test_no_file_holds_a_note_to_self() -> None:
    offences = lines_that_match(NOTE_TO_SELF)
    assert not offences, report(offences, advice="Do it, or leave it out:")


def test_no_file_names_a_place_of_one_machine() -> None:
    offences = lines_that_match(MACHINE_PATH)
    assert not offences, report(offences, advice="Take a folder from the caller, a setting or tmp_path:")


def test_no_file_points_to_a_number_of_a_tracker() -> None:
    offences = lines_that_match(TRACKER_NUMBER)
    assert not offences, report(offences, advice="Say the reason itself, so that it reads without the tracker:")


def lines_that_match(pattern: re.Pattern[str]) -> list[str]:
    """One `path:line: text` for every line of a tracked file that matches."""
    return [
        f"{file.path}:{number}: {line.strip()[:100]}"
        for file in tracked_files()
        for number, line in enumerate(file.text.splitlines(), start=1)
        if pattern.search(line)
    ]
