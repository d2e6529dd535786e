"""A record that was given up is mended at the command line: tried, checked, sent back, and told of afterwards."""

import json
from pathlib import Path

from tests.commands import read_lines, run, write

QUICK_RECOVERY = {"GRISTMILL_DISPATCHER__RECOVERY_DELAY_S": "0.01"}

FLOW = '''
"""Two plans: `picky` fails on the text `break`, `calm` notes each item that it sees."""
from pathlib import Path

import msgspec

from gristmill import Flow, Item, Label, Plan, cell, task

SEEN = Path(__file__).with_name("seen")


@cell("shout")
class Shout(msgspec.Struct, frozen=True):
    text: str
    labels: tuple[Label, ...] = ()


@task(attempts=1)
def shout(item: Item) -> Shout:
    if item.text == "break":
        raise ValueError(f"broken on purpose, item {item.item_id}")
    return Shout(item.text.upper(), (Label("loud", 0.9, "it shouts"),))


@task(attempts=1)
def note(item: Item) -> None:
    with SEEN.open("a", encoding="utf-8") as file:
        file.write(f"{item.input_id} {item.text}\\n")


flow = Flow("two", plans=[Plan("picky", tasks=[shout]), Plan("calm", tasks=[note])])
'''


def test_P25_a_mended_record_runs_the_plan_that_had_not_ended_and_no_other(tmp_path: Path) -> None:
    flow, state = write(tmp_path / "two_flow.py", FLOW), ("--state", tmp_path / "state")
    path = write(tmp_path / "in.jsonl", '{"id":"a","text":"x"}\n{"id":"b","text":"break"}\n{"id":"c","text":"break"}\n')
    command = ["run", "--input", path, "--output", tmp_path / "out.jsonl", "--flow", flow, *state]
    command += ["--plan", "picky", "calm"]
    assert run(*command, env=QUICK_RECOVERY).returncode == 3
    [cause] = run("dlq", "ls", "--causes", *state).stdout.splitlines()[1:]
    assert cause.split()[1] == "2"
    [number, *_] = [line.split()[0] for line in run("dlq", "ls", *state).stdout.splitlines()[1:]]
    old = json.loads(run("dlq", "show", number, "--payload", *state).stdout)
    wrong = write(tmp_path / "wrong", json.dumps({**old, "text": 7}))
    refused = run("dlq", "edit", number, "--input", wrong, "--flow", flow, *state)
    assert (refused.returncode, "/text" in refused.stderr) == (2, True), refused.stderr
    mended = write(tmp_path / "mended", json.dumps({**old, "text": "mended"}))
    tried = run("dlq", "try", number, "--input", mended, "--flow", flow, "--json", *state)
    [outcome] = json.loads(tried.stdout)["runs"]
    assert (tried.returncode, outcome["plan"], outcome["labels"][0]["val"]) == (0, "picky", "loud")
    edited = run("dlq", "edit", number, "--input", mended, "--reason", "a typo", "--flow", flow, *state)
    assert (edited.returncode, edited.stdout) == (0, f"edited and sent back: {number}\n"), edited.stderr

    assert run("dlq", "drop", "--cause", cause.split()[0], "--reason", "tests", *state).stdout == "dropped: 1\n"
    again = run(*command[:4], tmp_path / "again.jsonl", *command[5:], env=QUICK_RECOVERY)
    assert again.returncode == 3, again.stderr
    found = {line["id"]: line for line in read_lines(tmp_path / "again.jsonl")}
    assert (found["a"]["status"], found[old["id"]]["status"]) == ("done", "done")
    seen = (tmp_path / "seen").read_text(encoding="utf-8").splitlines()
    assert sorted(seen) == ["a x", "b break", "c break"]
    assert "mended" in run("show", old["id"], *state).stdout
    closed = run("dlq", "closed", *state).stdout
    assert ("a typo" in closed, "tests" in closed, "edited" in closed, "dropped" in closed) == (True,) * 4
