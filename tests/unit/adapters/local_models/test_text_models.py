"""Language and tone by small models from packages; nothing is downloaded."""

import socket

import pytest

from gristmill.adapters.local_models import LiteLanguage, VaderTone


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Bonjour tout le monde, comment allez-vous ?", "fr"),
        ("Das ist ein schöner Tag", "de"),
        ("привет, как дела", "ru"),
        ("この曲を聴くと思い出します", "ja"),
        ("the weather is lovely today", "en"),
    ],
)
def test_languages_are_told_apart(text: str, code: str) -> None:
    found, score = LiteLanguage()(text)
    assert found == code
    assert 0.5 < score <= 1.0


def test_no_connection_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a model tried to reach the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert LiteLanguage()("good morning everybody")[0] == "en"


@pytest.mark.parametrize("text", ["", "\n", "\x00", "a" * 100_000, "👍"])
def test_odd_texts_get_some_answer(text: str) -> None:
    code, score = LiteLanguage()(text)
    assert code
    assert 0.0 <= score <= 1.0
    assert -1.0 <= VaderTone()(text) <= 1.0


def test_tone_tells_praise_from_abuse() -> None:
    tone = VaderTone()
    assert tone("I love this, what a wonderful day") > 0.5
    assert tone("I hate this, you are a disgusting idiot") < -0.5
    assert tone("the table is made of wood") == 0.0
