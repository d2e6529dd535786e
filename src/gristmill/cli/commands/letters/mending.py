"""Another payload for a record that was given up: tried without writing anything, checked and sent back."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from gristmill.api.desk import Trial, edit_letter, try_letter
from gristmill.api.shapes.scoring import ScoreView
from gristmill.api.views.scores import view_score
from gristmill.cli.app import EXIT_FAULTY, EXIT_OK
from gristmill.cli.commands.letters.app import Number, app, find_letter, log_to, refusing, tell, whoever_calls
from gristmill.cli.options import ConfigFile, FlowFiles, StateDir, as_texts, folder_of, load
from gristmill.domain.errors import UsageError
from gristmill.domain.log import DeadLetter
from gristmill.runtime.folder import StateFolder
from gristmill.runtime.loop import run_async
from gristmill.runtime.reading.desk import open_desk_of
from gristmill.runtime.reading.lookup import open_for_reading
from gristmill.runtime.settings import Settings

__all__: list[str] = []

STDIN = Path("-")
TIMEOUT_MS = 60_000


@app.command(name="try")
def _try_letter(
    number: Number,
    /,
    *,
    input: Annotated[
        Path | None, Parameter(help="Another payload, - for standard input; its own by default.", show_default=False)
    ] = None,
    json_: Annotated[bool, Parameter(name="--json", negative="", help="As JSON.")] = False,
    flow: FlowFiles = (),
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Run the plans that had not ended over a record and write nothing: how they end, labels, error."""
    settings = load(state=state, config=config).settings
    folder = folder_of(settings)

    async def run() -> Trial:
        letter = await _read(folder, settings, number)
        value = letter.value if input is None else _read_payload(input)
        async with open_desk_of(folder, settings, letter, flow_files=as_texts(flow)) as desk:
            with refusing(number):
                return await try_letter(desk, letter, value, timeout_ms=TIMEOUT_MS)

    trial = run_async(run())
    views = [view_score(one.plan, one.plan_version, one.ended, duration_us=one.duration_us) for one in trial.runs]
    if json_:
        told = {"faults": trial.faults, "left_out": trial.left_out, "runs": views, "unknown_plans": trial.unknown}
        print(msgspec.json.encode(told).decode())
    else:
        _print_trial(trial, views)
    is_well = not trial.faults and not trial.unknown and all(view.status != "failed" for view in views)
    return EXIT_OK if is_well else EXIT_FAULTY


def _print_trial(trial: Trial, views: list[ScoreView]) -> None:
    for fault in trial.faults:
        tell(f"no item: {fault.pointer} {fault.message}")
    if trial.left_out:
        tell(f"left out: {trial.left_out}")
    for plan in trial.unknown:
        tell(f"plan {plan} is not loaded: name its file with --flow")
    for view in views:
        tell(f"plan {view.plan}: {view.status}{' ' * bool(view.error or view.reason)}{view.error or view.reason}")
        tell(f"  labels {', '.join(f'{label.val} {label.score:.2f}' for label in view.labels) or '-'}")
        for task in view.tasks:
            tell(f"  task {task.task}: {task.status}{' ' * bool(task.reason)}{task.reason}")
        tell(f"  fields {json.dumps(view.fields, ensure_ascii=False, default=str)}")


@app.command(name="edit")
def _edit_letter(
    number: Number,
    /,
    *,
    input: Annotated[Path, Parameter(help="The payload that goes back instead, - for standard input.")],
    reason: Annotated[str, Parameter(help="Why; kept with your name and the original.", show_default=False)] = "",
    flow: FlowFiles = (),
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Send a record back with another payload, if that is an item; `show --payload` prints the old one."""
    settings = load(state=state, config=config).settings
    folder = folder_of(settings)

    async def run() -> None:
        letter = await _read(folder, settings, number)
        value = _read_payload(input)
        async with open_desk_of(folder, settings, letter, flow_files=as_texts(flow)) as desk:
            log_to(settings, folder)
            with refusing(number):
                await edit_letter(desk, whoever_calls(), letter, value, reason=reason.strip())

    run_async(run())
    print(f"edited and sent back: {number}")
    return EXIT_OK


async def _read(folder: StateFolder, settings: Settings, number: int) -> DeadLetter:
    async with open_for_reading(folder, settings) as store:
        return await find_letter(store.log, number)


def _read_payload(path: Path) -> bytes:
    if path == STDIN:
        return sys.stdin.buffer.read()
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError("payload file", value=str(path), advice=error.strerror or str(error)) from error
