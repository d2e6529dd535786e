"""An input finds its topic again."""

from gristmill.runtime.batch.naming import choose_topic, compute_digest


def choose(*topics: str, is_fresh: bool = False) -> str:
    return choose_topic(topics, stem="my posts (1)", digest="d1", is_fresh=is_fresh)


def test_an_unknown_input_gets_the_first_generation() -> None:
    assert choose() == "run.my-posts-1.d1.1"
    assert choose("run.my-posts-1.d2.7", "run.my-posts-1.d1.x", "run.my-posts-1.d1.1.recovery") == "run.my-posts-1.d1.1"


def test_a_known_input_goes_on_in_its_latest_generation_or_starts_the_next() -> None:
    known = ("run.my-posts-1.d1.1", "run.my-posts-1.d1.10", "run.my-posts-1.d1.9")
    assert choose(*known) == "run.my-posts-1.d1.10"
    assert choose(*known, is_fresh=True) == "run.my-posts-1.d1.11"


def test_a_name_without_letters_still_names_a_topic() -> None:
    assert choose_topic([], stem="???", digest="d", is_fresh=False) == "run.input.d.1"


def test_a_digest_follows_every_part() -> None:
    parts = ["path", "content", {"a": 1, "b": 2}]
    assert compute_digest(parts) == compute_digest(["path", "content", {"b": 2, "a": 1}])
    assert compute_digest(parts) != compute_digest(["path", "content", {"a": 1, "b": 3}])
    assert len(compute_digest(parts)) == 12
