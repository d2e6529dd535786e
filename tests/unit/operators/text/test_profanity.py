"""Listed words, plain and in disguise; and innocent words that look like them."""

import pytest

from gristmill.operators.text.normalise import normalise
from gristmill.operators.text.profanity import Profanity, find_profanity, load_lexicon, read_lexicon
from tests.unit.operators.text.samples import ORDINARY


def find(text: str) -> Profanity:
    return find_profanity(normalise(text), load_lexicon())


@pytest.mark.parametrize(
    "text",
    ["sh1t", "a$$hole", "f**k you", "f*cking", "f.u.c.k", "f u c k off", "fuuuuck", "$hit", "b!tch", "5h1t", "fück"],
)
def test_disguised_words_are_found(text: str) -> None:
    assert find(text).count >= 1


@pytest.mark.parametrize(
    "text",
    [
        "Scunthorpe, Essex and Middlesex",
        "an assassin in a classic cocktail bar",
        "he'll say hello to the shiitake",
        "assess the mass of the bass",
        "gta5 mp3 2pac s3 4k as-s",
        "**** ---- f***",
        "cumulative analysis of the Dickens title",
    ],
)
def test_innocent_words_are_left_alone(text: str) -> None:
    assert find(text).severity == 0


def test_ordinary_comments_hurt_nobody() -> None:
    assert [text for text in ORDINARY if find(text).severity >= 2] == []


def test_insults_slurs_and_threats_are_counted_apart() -> None:
    found = find("you stupid moron, go die")
    assert (found.insult_count, found.threat_count, found.severity, found.second_person) == (2, 1, 3, True)
    assert find("nice weather") == Profanity()


def test_other_languages_are_listed() -> None:
    assert find("сука").severity == 2
    assert find("vaffanculo").severity == 3


def test_a_lexicon_adds_english_endings_only_where_asked() -> None:
    lexicon = read_lexicon("# comment\nblorp\t2\tswear\t+\nzonk\t1\tswear\t=\n")
    assert "blorping" in lexicon.words
    assert "zonking" not in lexicon.words
