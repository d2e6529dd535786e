"""Errors carry fields, read as one sentence, and survive the way back from another process."""

import copy
import pickle

import pytest

from gristmill.domain import errors
from gristmill.domain.errors import ConfigError, GristmillError

KINDS = [getattr(errors, name) for name in errors.__all__]


def test_a_message_names_the_thing_its_value_and_the_next_step() -> None:
    assert str(ConfigError("plan key", value="dup", advice="rename one")) == "plan key: 'dup' (rename one)"
    assert str(ConfigError("plan 'p' has no task")) == "plan 'p' has no task"
    assert str(ConfigError("weight", value=0)) == "weight: 0"


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_survives_pickling_and_copying(kind: type[GristmillError]) -> None:
    error = kind("thing", value=("a", 1), advice="step")
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is kind
        assert (twin.thing, twin.value, twin.advice) == ("thing", ("a", 1), "step")
        assert str(twin) == str(error)


def test_every_error_stands_in_the_one_tree() -> None:
    assert all(issubclass(kind, GristmillError) for kind in KINDS)
