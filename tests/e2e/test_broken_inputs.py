"""Two thousand broken inputs of every kind among good ones: each is kept with its reason, the rest is done."""

import asyncio
import json
import random
from collections.abc import Callable
from pathlib import Path

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import new_owner
from gristmill.adapters.sqlite import SqliteStore
from tests.commands import LOUD_FLOW, read_lines, run, write

BROKEN = 2_000
GOOD = 500

KINDS: list[Callable[[random.Random, int], bytes]] = [
    lambda chance, number: b'{"id": "%d", "text": "cut off' % number,
    lambda chance, number: b"{'id': %d, 'text': 'single quotes'}" % number,
    lambda chance, number: b'{"id": "%d", "text": %d}' % (number, number),
    lambda chance, number: b'{"id": ["%d"], "text": "list as id"}' % number,
    lambda chance, number: b'{"id": "%d", "text": "t", "author": false}' % number,
    lambda chance, number: b'{"id": "%d", "text": "t", "created_at": "some day"}' % number,
    lambda chance, number: b'{"id": "%d", "text": "nul \x00 inside"}' % number,
    lambda chance, number: b'{"id": "%d", "text": "nul \\u0000 escaped"}' % number,
    lambda chance, number: b'{"id": "%d", "text": "half \\ud83d pair"}' % number,
    lambda chance, number: '{"id": "%d", "text": "Grüße"}'.encode("latin-1").replace(b"%d", str(number).encode()),
    lambda chance, number: b"\xff\xfe" + f'{{"id": {number}}}'.encode("utf-16-le").replace(b"\n", b""),
    lambda chance, number: b'{"id": "%d", "text": "t", "deep": ' % number + b"[" * 100 + b"]" * 100 + b"}",
    lambda chance, number: b'{"id": "%d"}' % number,
    lambda chance, number: b'{"id": "%d", "text": " "}' % number,
    lambda chance, number: b"",
    lambda chance, number: b"   ",
    lambda chance, number: b"[%d]" % number,
    lambda chance, number: b'"%d"' % number,
    lambda chance, number: b"NaN",
    lambda chance, number: bytes(byte for byte in chance.randbytes(200) if byte not in b"\r\n{") or b"\x80",
]


def test_two_thousand_broken_inputs_are_kept_and_the_rest_is_done(tmp_path: Path) -> None:
    chance = random.Random(7)
    broken = [KINDS[number % len(KINDS)](chance, number) for number in range(BROKEN - 2)]
    broken.append(b'{"id": "large", "text": "' + b"x" * (1024 * 1024 + 1) + b'"}')
    broken.append(b'{"id": "huge", "text": "' + b"y" * (9 * 1024 * 1024) + b'"}')
    good = [json.dumps({"id": f"g{number}", "text": f"text {number}"}).encode() for number in range(GOOD)]
    lines = [*((line, "done") for line in good), *((line, "quarantined") for line in broken)]
    chance.shuffle(lines)
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"\n".join(line for line, _ in lines) + b"\n")
    state, output = tmp_path / "state", tmp_path / "out.jsonl"
    flow = write(tmp_path / "loud_flow.py", LOUD_FLOW)

    ended = run("run", "--input", path, "--flow", flow, "--state", state, "--output", output)

    assert ended.returncode == 3, ended.stderr
    found = read_lines(output)
    assert [line["status"] for line in found] == [status for _, status in lines]
    assert all(line["error"] for line in found if line["status"] == "quarantined")
    assert {line["id"] for line in found if line["status"] == "done"} == {f"g{number}" for number in range(GOOD)}
    expected = sorted(line if len(line) < 8 * 1024 * 1024 else line[:1024] for line in broken)
    assert sorted(read_quarantine(state)) == expected
    blobs = list((state / "blobs").iterdir())
    assert [blob.stat().st_size for blob in blobs] == [len(broken[-1])]


def read_quarantine(state: Path) -> list[bytes]:
    async def read() -> list[bytes]:
        store = SqliteStore.open(state / "gristmill.sqlite", clock=SystemClock(), owner=new_owner())
        try:
            return [entry.raw for entry in await store.state.quarantined(limit=10_000)]
        finally:
            await store.close()

    return asyncio.run(read())
