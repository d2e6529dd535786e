"""Language: what the model says, and when to believe it."""

from gristmill.operators.text.language import UNDETERMINED, detect_language
from gristmill.operators.text.normalise import normalise


class Model:
    """Answers always the same and keeps what it was asked."""

    def __init__(self, code: str, score: float) -> None:
        self.answer = (code, score)
        self.asked: list[str] = []

    def __call__(self, text: str) -> tuple[str, float]:
        self.asked.append(text)
        return self.answer


def test_short_texts_are_undetermined_without_asking_the_model() -> None:
    model = Model("en", 1.0)
    found = detect_language(normalise("xD 12 :)"), model)
    assert (found.code, found.reliable, model.asked) == (UNDETERMINED, False, [])


def test_links_are_kept_from_the_model() -> None:
    model = Model("es", 0.9)
    detect_language(normalise("hola a todos https://example.com/abc"), model)
    assert "example" not in model.asked[0]


def test_a_guess_needs_enough_letters_and_a_clear_score() -> None:
    long, short = normalise("a sentence of some length"), normalise("okay")
    assert detect_language(long, Model("en", 0.9)).reliable
    assert not detect_language(long, Model("en", 0.3)).reliable
    assert not detect_language(short, Model("en", 0.9)).reliable
    assert detect_language(normalise("好听的歌"), Model("zh", 0.9)).reliable
