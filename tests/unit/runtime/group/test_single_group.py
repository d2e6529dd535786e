"""A file through a group in one process, over a store in memory."""

import json
from pathlib import Path

import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.memory import MemoryStore
from gristmill.intake.reader import open_input
from gristmill.plans.plan import Generator
from gristmill.runtime.batch.outcomes import read_outcomes
from gristmill.runtime.batch.work_off import work_off
from gristmill.runtime.composition.decode import RecordDecoder
from gristmill.runtime.group.lifecycle import StopSignals, serve
from gristmill.runtime.group.single import SingleGroup
from gristmill.runtime.settings import DispatcherSection, Settings
from gristmill.runtime.spec import GroupSpec

FLOW = """
from gristmill import Item, Label, Plan, Skip, cell, task
import msgspec

@cell("shout")
class Shout(msgspec.Struct, frozen=True):
    text: str
    labels: tuple[Label, ...] = ()

@task(attempts=1)
def shout(item: Item) -> Shout | Skip:
    if item.text == "break":
        raise ValueError("broken")
    if item.text == "skip":
        return Skip("asked to")
    return Shout(item.text.upper(), (Label("loud", 1.0, "it shouts"),))

loud = Plan("loud", tasks=[shout])
"""


async def test_each_line_comes_out_once_and_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gristmill.runtime.composition.flows.discover_flows", list)
    flow = tmp_path / "loud_flow.py"
    flow.write_text(FLOW, encoding="utf-8")
    path = tmp_path / "in.jsonl"
    texts = ["a", "break", "skip", "b"]
    lines = [json.dumps({"id": f"i{n}", "text": text}) for n, text in enumerate(texts)]
    path.write_text("\n".join([*lines[:2], "{", *lines[2:]]) + "\n", encoding="utf-8")
    clock = SystemClock()
    store = MemoryStore(clock)
    generator = Generator(type="run", topic="run", plans=("loud",), source=str(path))
    settings = Settings(dispatcher=DispatcherSection(max_in_flight=512, recovery_delay_s=0))
    spec = GroupSpec(
        state_dir=str(tmp_path / "state"), settings=settings, flow_files=(str(flow),), generators=(generator,)
    )
    spec.folder.prepare()
    group = SingleGroup(spec, flows={"loud_flow": ["run"]}, clock=clock, open_store=lambda *_: store)
    work = work_off(store.log, generator, open_input(path), blobs=tmp_path, clock=clock, on_progress=lambda *_: None)
    assert await serve(group, work, signals=StopSignals(), clock=clock, folder=spec.folder, drain_timeout_s=5)
    mapper = RecordDecoder({}).mapper(generator)
    found = [line async for line in read_outcomes(store.log, store.state, generator=generator, mapper=mapper)]
    assert [(line.id, line.status) for line in found] == [
        ("i0", "done"),
        ("i1", "failed"),
        ("line-3", "quarantined"),
        ("i2", "done"),
        ("i3", "done"),
    ]
    assert found[0].fields == {"shout": {"text": "A"}}
    assert [(label.val, label.operator) for label in found[0].labels] == [("loud", "shout")]
    assert "broken" in found[1].error
    assert "invalid JSON" in found[2].error
