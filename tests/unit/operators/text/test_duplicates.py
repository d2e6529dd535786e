"""Keys: equal for equal and nearly equal texts, different for different ones, the same in every process."""

import os
import subprocess
import sys

from gristmill.operators.text.contacts import Contacts, find_contacts
from gristmill.operators.text.duplicates import BANDS, compute_exact_key, compute_keys, compute_near_keys
from gristmill.operators.text.normalise import normalise
from tests.unit.operators.text.samples import ADVERTS, ORDINARY, TRICKY

SENTENCE = "the harbour was quiet that morning and the boats lay still under a pale november sky"


def near(text: str) -> set[str]:
    return set(compute_near_keys(normalise(text)))


def test_exact_keys_ignore_case_blanks_and_invisible_characters() -> None:
    keys = {compute_exact_key(normalise(text)) for text in ("Nice  song", "nice song", "NICE\u200b SONG\n")}
    assert len(keys) == 1
    assert compute_exact_key(normalise("nice song!")) not in keys
    assert compute_exact_key(normalise(" ")) == ""


def test_small_edits_share_a_near_key() -> None:
    words = SENTENCE.split()
    edits = [
        SENTENCE.upper() + "!!! 😀",
        SENTENCE + " lol",
        " ".join(words[1:]),
        " ".join([*words[:6], "evening", *words[7:]]),
        " ".join([*words[:3], "very", *words[3:]]),
    ]
    assert all(near(SENTENCE) & near(edit) for edit in edits)


def test_different_texts_share_no_near_key() -> None:
    texts = dict.fromkeys((*ORDINARY, *TRICKY, *ADVERTS))
    seen: dict[str, str] = {}
    for text in texts:
        for key in near(text):
            assert seen.setdefault(key, text) == text


def test_short_and_monotonous_texts_have_no_near_keys() -> None:
    assert near("this song is the best") == set()
    assert near("la " * 50) == set()
    assert len(compute_near_keys(normalise(SENTENCE))) == BANDS


def test_keys_are_the_same_in_another_process_with_another_hash_seed() -> None:
    code = (
        "from gristmill.operators.text.duplicates import *; from gristmill.operators.text.normalise import normalise;"
        f"print(compute_near_keys(normalise({SENTENCE!r})), compute_exact_key(normalise({SENTENCE!r})))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "4711"}
    other = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    here = normalise(SENTENCE)
    assert other.stdout.strip() == f"{compute_near_keys(here)} {compute_exact_key(here)}"


def test_keys_stay_what_they_were() -> None:
    """Stored keys outlive a release: a change here needs a new prefix."""
    found = normalise(SENTENCE)
    assert compute_exact_key(found) == "x1:99a4d7c7ddd97a3c4165a06658f487f3"
    assert compute_near_keys(found)[:2] == ("n1:007885bfd2f97a21f2", "n1:012c65fdaa12c8a1ad")


def test_link_keys_are_unique_and_bounded() -> None:
    text = "https://a.com/x https://A.com/x/ " + " ".join(f"https://b{index}.com" for index in range(20))
    keys = compute_keys(normalise(text), find_contacts(text)).links
    assert keys[:2] == ("a.com/x", "b0.com")
    assert len(keys) == 8
    assert compute_keys(normalise("plain"), Contacts()).links == ()
