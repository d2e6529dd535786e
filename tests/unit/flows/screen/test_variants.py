"""Other rules and a trained head in the plan `screen`."""

from pathlib import Path

import pytest

from gristmill import Embedder, Role
from gristmill.adapters.local_models import StaticEmbedder
from gristmill.domain.errors import ConfigError, DataError
from gristmill.flows.screen import build_plan, read_shipped_rules
from gristmill.flows.screen.results import Screened
from gristmill.flows.screen.training import train_on
from tests.unit.flows.screen.screened import compile_for, run_graph
from tests.unit.operators.text.samples import ADVERTS, ORDINARY

EMBEDDER = StaticEmbedder()


def test_a_copy_of_the_rules_can_say_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(read_shipped_rules().replace("  - youtube.com\n", "  - youtube.com\n  - example.com\n"), "utf-8")
    text = "my notes are at https://example.com/notes if anyone cares"
    shipped = run_graph(compile_for(build_plan()), text)["screening"]
    own = run_graph(compile_for(build_plan("mine", rules=str(path))), text)["screening"]
    assert {label.val for label in shipped.labels} - {label.val for label in own.labels} == {"spam"}
    assert shipped.rules != own.rules


def test_a_mistake_in_a_rule_file_keeps_the_plan_from_being_built(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(read_shipped_rules().replace("when: subscribe_ask", "when: subscribe_asc"), "utf-8")
    with pytest.raises(ConfigError, match="did you mean 'subscribe_ask'"):
        build_plan("mine", rules=str(path))
    with pytest.raises(ConfigError, match="cannot read rule file"):
        build_plan("mine", rules=str(tmp_path / "none.yaml"))


def test_a_trained_head_decides_and_is_named(tmp_path: Path) -> None:
    head = train_on([*ADVERTS, *ORDINARY], [True] * len(ADVERTS) + [False] * len(ORDINARY), EMBEDDER)
    path = tmp_path / "spam.head"
    path.write_bytes(head.dump())
    graph = compile_for(build_plan("mine", head=str(path), images=None))
    assert [(need.port, need.role) for need in graph.needs] == [(Embedder, Role("text").name)]
    for text in (ADVERTS[0], ORDINARY[0]):
        found = run_graph(graph, text, resources=(EMBEDDER,))
        screened, scored = found["screening"], found["head_score"]
        assert isinstance(screened, Screened)
        assert screened.head == head.revision
        assert (scored.score >= 0.5) == any(label.val == "spam" for label in screened.labels)


def test_bytes_that_are_no_head_keep_the_plan_from_being_built(tmp_path: Path) -> None:
    path = tmp_path / "spam.head"
    path.write_bytes(b"not a head")
    with pytest.raises(DataError, match="no trained head"):
        build_plan("mine", head=str(path))
    with pytest.raises(ConfigError, match="cannot read trained head"):
        build_plan("mine", head=str(tmp_path / "none.head"))
