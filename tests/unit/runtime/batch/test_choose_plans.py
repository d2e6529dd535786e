"""Which plans a file goes through, and whether it can."""

from pathlib import Path

import pytest

from gristmill import Flow, Item, Plan, task
from gristmill.domain.errors import UsageError
from gristmill.intake.fields import FieldMap
from gristmill.intake.reader import open_input
from gristmill.plans.registry import Registry, build_registry
from gristmill.runtime.batch.choose_plans import choose_plans, describe_work, refuse_unmapped
from gristmill.runtime.batch.manifest import InputManifest, read_manifests, write_manifest
from gristmill.runtime.batch.report import check_output


@task
def look(item: Item, *, rules: str = "") -> None: ...


def registry(**flows: list[str]) -> Registry:
    return build_registry([Flow(name, plans=[Plan(key, tasks=[look]) for key in keys]) for name, keys in flows.items()])


def test_what_is_asked_for_wins_and_is_kept_once() -> None:
    known = registry(screen=["screen"], mine=["a", "b"])
    assert choose_plans(known, ["b", "a", "b"], file_flows=["mine"]) == ("b", "a")
    with pytest.raises(UsageError, match=r"plan key: 'scren' \(did you mean 'screen'"):
        choose_plans(known, ["scren"], file_flows=[])


def test_without_a_word_it_is_the_only_plan_of_the_file_or_screen() -> None:
    assert choose_plans(registry(screen=["screen"], mine=["a"]), [], file_flows=["mine"]) == ("a",)
    assert choose_plans(registry(screen=["screen"], mine=["a"]), [], file_flows=[]) == ("screen",)
    with pytest.raises(UsageError, match="name one with --plan: a, b"):
        choose_plans(registry(mine=["a", "b"]), [], file_flows=["mine"])
    with pytest.raises(UsageError, match="no plan given"):
        choose_plans(registry(mine=["a"]), [], file_flows=[])


def test_a_file_that_a_task_reads_is_part_of_the_work(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("one", encoding="utf-8")
    known = build_registry([Flow("f", plans=[Plan("p", tasks=[look.use(rules=str(rules))])])])
    first = describe_work(known, ["p"], flow_files=[str(rules)])
    assert describe_work(known, ["p"], flow_files=[str(rules)]) == first
    rules.write_text("two", encoding="utf-8")
    changed = describe_work(known, ["p"], flow_files=[])
    assert changed[0] != first[0]


def test_a_table_needs_a_column_for_the_text_and_each_mapped_one(tmp_path: Path) -> None:
    table = tmp_path / "in.csv"
    table.write_text("id,words\n1,a\n", encoding="utf-8")
    with pytest.raises(UsageError, match="columns: id, words"):
        refuse_unmapped(open_input(table), FieldMap())
    refuse_unmapped(open_input(table), FieldMap({"text": "Words"}))
    with pytest.raises(UsageError, match=r"column for author.*'writer'"):
        refuse_unmapped(open_input(table), FieldMap({"text": "words", "author": "writer"}))


def test_an_output_is_refused_before_any_work(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    check_output(None, input=source)
    check_output(Path("-"), input=source)
    check_output(tmp_path / "out.jsonl", input=source)
    with pytest.raises(UsageError, match="would replace the input"):
        check_output(source, input=source)
    with pytest.raises(UsageError, match="is a folder"):
        check_output(tmp_path, input=source)
    with pytest.raises(UsageError, match="does not exist"):
        check_output(tmp_path / "no" / "out", input=source)


def test_inputs_are_remembered_the_latest_first(tmp_path: Path) -> None:
    for number in (1, 2):
        manifest = InputManifest(topic=f"t{number}", path="p", source="s", plans=("a",), started_at_ms=number)
        write_manifest(tmp_path / "inputs", manifest)
        write_manifest(tmp_path / "inputs", manifest)
    (tmp_path / "inputs" / "odd.json").write_text("{", encoding="utf-8")
    assert [manifest.topic for manifest in read_manifests(tmp_path / "inputs")] == ["t2", "t1"]
    assert read_manifests(tmp_path / "none") == []
