"""The commands around a run: look, explain, check, judge, train, demonstrate."""

import json
from pathlib import Path

import pytest

from tests.commands import LOUD_FLOW, read_lines, run, write

SPAM = ["subscribe to my channel", "check out my page now", "free money click here", "follow me for free followers"]
HAM = ["the violin part is lovely", "which camera is this", "I grew up near that lake", "thanks for the recipe"]


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which twelve posts went through the flow `screen`."""
    folder = tmp_path_factory.mktemp("worked")
    texts = [(text, True) for text in SPAM] + [(text, False) for text in HAM]
    lines = [json.dumps({"id": f"p{n}", "text": text, "is_spam": truth}) for n, (text, truth) in enumerate(texts)]
    lines += [json.dumps({"id": f"d{n}", "text": HAM[0], "is_spam": False}) for n in range(4)]
    path = write(folder / "truth.jsonl", "\n".join(lines) + "\n")
    ended = run("run", "--input", path, "--state", folder / "state", "--output", folder / "out.jsonl")
    assert ended.returncode == 0, ended.stderr
    return folder


def output(*arguments: object) -> str:
    ended = run(*arguments)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_an_item_is_shown_by_either_of_its_ids(worked: Path) -> None:
    shown = output("show", "p0", "--state", worked / "state")
    assert "subscribe to my channel" in shown
    assert "spam" in shown
    item_id = read_lines(worked / "out.jsonl")[0]["item_id"]
    assert output("show", item_id, "--state", worked / "state") == shown


def test_an_item_explains_each_task_and_what_it_shares(worked: Path) -> None:
    explained = output("explain", "d0", "--state", worked / "state")
    for task in ("normalised", "language", "shared_keys", "screening"):
        assert task in explained
    assert "duplicate 1.00: same text as p4" in explained
    assert "run.ended" in explained


def test_an_id_that_nobody_knows_and_a_folder_that_holds_nothing_are_named(worked: Path, tmp_path: Path) -> None:
    unknown = run("show", "nobody", "--state", worked / "state")
    assert unknown.returncode == 2
    assert "no item has this id" in unknown.stderr
    empty = run("explain", "p0", "--state", tmp_path)
    assert empty.returncode == 2
    assert "state folder holds nothing" in empty.stderr


def test_plans_are_listed_and_drawn(worked: Path) -> None:
    assert "screen" in output("plans", "list")
    drawn = output("plans", "show", "screen")
    assert drawn.startswith("plan screen, version ")
    assert "language?" in drawn
    refused = run("plans", "show", "scren")
    assert refused.returncode == 2
    assert "did you mean 'screen'" in refused.stderr


def test_flows_are_listed_for_people_and_programs(tmp_path: Path) -> None:
    flow = write(tmp_path / "loud_flow.py", LOUD_FLOW)
    assert "loud_flow" in output("flows", "list", "--flow", flow)
    assert json.loads(output("flows", "list", "--json", "--flow", flow))["plans"] == ["screen", "loud"]


def test_check_finds_a_rule_file_sound_or_says_what_is_wrong(tmp_path: Path) -> None:
    assert "all sound" in output("check")
    broken = write(tmp_path / "rules.yaml", "labels: [")
    refused = run("check", "--rules", broken)
    assert refused.returncode == 2
    assert "rules.yaml" in refused.stderr
    config = write(tmp_path / "gristmill.toml", '[screen]\nrules = "rules.yaml"\n')
    assert run("check", "--config", config).returncode == 2


def test_check_finds_routes_sound_tells_unknown_plans_or_says_what_is_wrong(tmp_path: Path) -> None:
    routes = write(tmp_path / "routes.yaml", "routes: comments\ntypes:\n  comment.published: {plans: [scren]}\n")
    said = output("check", "--routes", routes)
    assert "routes comments: 1 types, sound" in said
    assert "no flow here has (did you mean 'screen'?" in said
    write(tmp_path / "routes.yaml", "routes: comments\ntypes:\n  comment.published: {plans: [screen], tier: urgnt}\n")
    refused = run("check", "--routes", routes)
    assert refused.returncode == 2
    assert "routes.yaml:3: tier: is 'urgnt' (did you mean 'urgent'?" in refused.stderr


def test_settings_say_where_they_come_from(tmp_path: Path) -> None:
    config = write(tmp_path / "gristmill.toml", "[engine]\ncount = 3\n")
    words = [line.split() for line in output("config", "explain", "--config", config).splitlines()]
    assert ["engine.count", "3", f"({config})", "engine", "processes"] in words
    assert "count = 3" in output("config", "show", "--config", config).splitlines()


def test_labels_are_judged_from_an_output_or_from_the_store(worked: Path) -> None:
    truth = ["--truth", worked / "truth.jsonl", "--label", "is_spam", "--expect", "spam"]
    from_file = output("eval", *truth, "--pred", worked / "out.jsonl")
    assert "spam on truth.jsonl: precision" in from_file
    assert "threshold" in from_file
    assert output("eval", *truth, "--state", worked / "state") == from_file
    compared = output("eval", *truth, "--pred", worked / "out.jsonl", "--against", worked / "out.jsonl")
    assert "same answer for 12 texts" in compared
    for wrong, message in (
        (["--pred", worked / "none.jsonl"], "predictions cannot be read"),
        (["--pred", worked / "truth.jsonl"], "file holds no predictions"),
        (["--state", worked / "state", "--against", "nope"], "no stored run of these items used it"),
    ):
        refused = run("eval", *truth, *wrong)
        assert refused.returncode == 2
        assert message in refused.stderr
    unknown = run("eval", *truth[:2], "--label", "is_span", "--expect", "spam", "--pred", worked / "out.jsonl")
    assert "did you mean 'is_spam'" in unknown.stderr


def test_a_head_is_trained_and_used_once_it_is_active(worked: Path, tmp_path: Path) -> None:
    state, truth = tmp_path / "state", worked / "truth.jsonl"
    trained = output("train", "spam", "--truth", truth, "--text", "text", "--label", "is_spam", "--state", state)
    assert "not active" in trained
    revision = trained.split()[1]
    output("run", "--input", truth, "--state", state, "--output", tmp_path / "1.jsonl")
    assert {line["fields"]["screen"]["head"] for line in read_lines(tmp_path / "1.jsonl")} == {""}
    assert "active" in output("train", "spam", "--truth", truth, "--state", state, "--activate")
    output("run", "--input", truth, "--state", state, "--output", tmp_path / "2.jsonl")
    assert {line["fields"]["screen"]["head"] for line in read_lines(tmp_path / "2.jsonl")} == {revision}
    options = ["--truth", truth, "--label", "is_spam", "--expect", "spam", "--state", state, "--against", revision]
    assert "same answer for 12 texts" in output("eval", *options)


def test_a_dead_letter_desk_that_is_empty_says_so(worked: Path) -> None:
    assert "no dead letters" in output("dlq", "ls", "--state", worked / "state")
    assert "quarantine is empty" in output("dlq", "quarantine", "--state", worked / "state")
    assert run("dlq", "requeue", "--state", worked / "state").returncode == 2
    assert run("dlq", "requeue", "7", "--state", worked / "state").returncode == 2
    assert run("dlq", "show", "7", "--state", worked / "state").returncode == 2


def test_counters_of_the_last_group_can_be_read(worked: Path, tmp_path: Path) -> None:
    scrape = output("metrics", "--state", worked / "state")
    assert "gristmill_engine_task_success_total 12.0" in scrape
    assert run("metrics", "--state", tmp_path).returncode == 2
    assert run("health", "--state", tmp_path).returncode == 1


def test_a_command_that_does_not_exist_is_refused() -> None:
    refused = run("rnu")
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr
