"""Runs `gristmill` as a person does: real processes, real files. Waits for conditions, never for a time."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import new_owner
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.log import NewRecord

LOOK_S = 0.02
COMMAND_TIMEOUT_S = 90
COMMAND = [sys.executable, "-m", "gristmill"]

FACELESS = {"GRISTMILL_API__ENABLED": "false", "GRISTMILL_API__PORT": "0", "GRISTMILL_GRPC__ENABLED": "off"}
"""Groups of tests serve no HTTP unless they ask for it, and then on a port of their own."""

SLOW_FLOW = '''
"""Each record waits for as many seconds as its text says, and notes its start in a file."""
import asyncio
from pathlib import Path

from gristmill import Flow, Generator, Item, Plan, task

STARTS = Path(__file__).with_name("starts")


@task(attempts=1, timeout_ms=600_000)
async def wait(item: Item) -> None:
    with STARTS.open("a", encoding="utf-8") as file:
        file.write(f"{item.input_id}\\n")
    await asyncio.sleep(float(item.text))


flow = Flow(
    "slow",
    plans=[Plan("slow", tasks=[wait])],
    generators=[Generator(type="slow", topic="slow", plans=("slow",))],
)
'''

LOUD_FLOW = '''
"""A label for every text; the text `break` fails."""
import msgspec

from gristmill import Item, Label, Plan, cell, task


@cell("shout")
class Shout(msgspec.Struct, frozen=True):
    text: str
    labels: tuple[Label, ...] = ()


@task(attempts=1)
def shout(item: Item) -> Shout:
    if item.text == "break":
        raise ValueError("broken on purpose")
    return Shout(item.text.upper()[:20], (Label("loud", 1.0, "it shouts"),))


loud = Plan("loud", tasks=[shout])
'''


def write(path: Path, text: str) -> Path:
    """Write a file and return it."""
    path.write_text(text, encoding="utf-8")
    return path


def run(*arguments: object, env: dict[str, str] | None = None, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        input=stdin.decode() if stdin else None,
        stdin=None if stdin else subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, **(env or {})},
        timeout=COMMAND_TIMEOUT_S,
        check=False,
    )


@contextmanager
def started(*arguments: object, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command in a process group of its own; whatever is left of it at the end is killed."""
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **FACELESS, **(env or {})},
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_until(condition: Callable[[], object], what: str, *, timeout_s: float = 30) -> None:
    """Return when the condition holds; fail, naming it, when it does not in time."""
    pause = threading.Event()
    for _ in range(round(timeout_s / LOOK_S)):
        if condition():
            return
        pause.wait(LOOK_S)
    raise AssertionError(f"not within {timeout_s:g} s: {what}")


def is_gone(group: int) -> bool:
    """Whether no process of a process group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def serves(state: Path) -> bool:
    """Whether the group on a state folder says that it serves."""
    return run("health", "--state", state).returncode == 0


async def put(state: Path, topic: str, texts: Sequence[str]) -> None:
    """Append one record a text to a topic; ids are r0, r1, ..."""
    async with _store(state) as store:
        records = [NewRecord(json.dumps({"id": f"r{n}", "text": text}).encode()) for n, text in enumerate(texts)]
        await store.log.append(topic, records)


async def open_records(state: Path, topic: str) -> int:
    """Return how many records of a topic have not ended for the group of the same name."""
    async with _store(state) as store:
        lag = await store.log.lag(topic, topic)
        return lag.undelivered + lag.in_flight + lag.waiting


class _store:
    def __init__(self, state: Path) -> None:
        state.mkdir(parents=True, exist_ok=True)
        self._store = SqliteStore.open(state / "gristmill.sqlite", clock=SystemClock(), owner=new_owner())

    async def __aenter__(self) -> SqliteStore:
        return self._store

    async def __aexit__(self, *_: object) -> None:
        await self._store.close()
