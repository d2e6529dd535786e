"""The trainable head: it learns, is the same again, and refuses what is not its own."""

import numpy as np
import pytest
from numpy.typing import NDArray

from gristmill.domain.errors import DataError, UsageError
from gristmill.operators.text.head import HeadFeatures, extract_features, load_head, train_head
from gristmill.operators.text.normalise import normalise
from gristmill.operators.text.signals import Findings
from gristmill.operators.text.spam import find_spam_signals
from tests.unit.operators.text.samples import ADVERTS, ORDINARY


def features_of(text: str, vector: NDArray[np.float32] | None = None) -> HeadFeatures:
    prose = normalise(text)
    return extract_features(Findings(prose, spam=find_spam_signals(prose)), prose, vector, vector_revision="v1")


TEXTS = (*ADVERTS, *ORDINARY)
LABELS = [index < len(ADVERTS) for index in range(len(TEXTS))]


def test_a_head_learns_what_it_is_shown_and_keeps_to_probabilities() -> None:
    examples = [features_of(text) for text in TEXTS]
    head = train_head(examples, LABELS)
    scores = [head.score(example) for example in examples]
    assert [score >= 0.5 for score in scores] == LABELS
    assert all(0.0 <= score <= 1.0 for score in scores)


def test_the_same_examples_give_the_same_bytes() -> None:
    examples = [features_of(text) for text in TEXTS]
    assert train_head(examples, LABELS).dump() == train_head(examples, LABELS).dump()


def test_a_head_survives_its_bytes() -> None:
    head = train_head([features_of(text) for text in TEXTS], LABELS)
    again = load_head(head.dump())
    probe = features_of("come and see my new shop")
    assert (again.revision, again.score(probe)) == (head.revision, head.score(probe))
    assert head.revision.startswith("head-")


def test_an_empty_text_has_a_score() -> None:
    head = train_head([features_of(text) for text in TEXTS], LABELS)
    assert 0.0 <= head.score(features_of("")) <= 1.0


@pytest.mark.parametrize("stored", [b"", b"nonsense", b"\x85"])
def test_bytes_that_are_no_head_are_refused(stored: bytes) -> None:
    with pytest.raises(DataError, match="no trained head"):
        load_head(stored)


def test_features_of_another_kind_are_refused() -> None:
    head = train_head([features_of(text) for text in TEXTS], LABELS)
    with pytest.raises(UsageError, match="another kind"):
        head.score(features_of("hello", np.ones(4, np.float32)))
    mixed = [features_of("a"), features_of("b", np.ones(4, np.float32)), features_of("c"), features_of("d")]
    with pytest.raises(UsageError, match="different kinds"):
        train_head(mixed, [True, True, False, False])


def test_a_head_of_other_features_is_refused() -> None:
    stored = train_head([features_of(text) for text in TEXTS], LABELS).dump()
    with pytest.raises(DataError, match="other features"):
        load_head(stored.replace(b"\xa6schema", b"\xa6schema").replace(b"1:", b"0:", 1))


def test_training_needs_examples_of_both_classes() -> None:
    examples = [features_of(text) for text in TEXTS[:4]]
    with pytest.raises(UsageError, match="two examples of each class"):
        train_head(examples, [True] * 4)
    with pytest.raises(UsageError, match="differ in number"):
        train_head(examples, [True])
