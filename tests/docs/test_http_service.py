"""The guide to the HTTP service runs from top to bottom as a person would type it, and so does its example."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.test_http import serving

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "put-it-in-front-of-your-comments.md"
EXAMPLE = ROOT / "examples" / "03_http_service"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TIMEOUT_S = 100
COMMENTS = {"monday": 351, "tuesday": 350}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.slow
def test_the_guide_works_as_it_stands(tmp_path: Path) -> None:
    port = free_port()
    blocks = BLOCK.findall(GUIDE.read_text(encoding="utf-8"))
    assert len(blocks) >= 8
    for day, count in COMMENTS.items():
        lines = [json.dumps({"id": f"{day}-{n}", "text": f"{day} comment {n}, thank you"}) for n in range(count)]
        (tmp_path / f"{day}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    # A test may not take the port that the page names; everything else is typed as it stands.
    script = "\n".join(["set -euo pipefail -m", "trap 'kill $(jobs -p) 2>/dev/null || :' EXIT", *blocks])
    script = script.replace("127.0.0.1:8080", f"127.0.0.1:{port}")
    env = {**os.environ, "GRISTMILL_API__PORT": str(port), "GRISTMILL_GRPC__PORT": "0"}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    command = ["bash", "-c", script]
    typed = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert typed.returncode == 0, typed.stdout + typed.stderr + (tmp_path / "gristmill.log").read_text(encoding="utf-8")
    assert "spam" in [label["val"] for label in json.loads((tmp_path / "score.json").read_bytes())["labels"]]
    assert '{"accepted":351,"filtered":0,"refused":0}\n{"accepted":350,"filtered":0,"refused":0}' in typed.stdout
    assert len((tmp_path / "labelled.jsonl").read_bytes().splitlines()) == 701
    batch = json.loads((tmp_path / "batch.json").read_bytes())
    assert [one["status"] for one in batch["items"]] == ["accepted", "refused", "accepted"]
    negated = {label["val"]: label for label in json.loads((tmp_path / "negated.json").read_bytes())["labels"]}
    assert (negated["spam"]["negated"], negated["spam"]["actor"]) == (True, "eve by moderation desk")
    assert int((tmp_path / "counters.txt").read_text(encoding="utf-8")) > 10


def test_the_example_says_what_it_promises(tmp_path: Path) -> None:
    with serving(tmp_path / "state") as service:
        told = subprocess.run(
            [sys.executable, EXAMPLE / "client.py", EXAMPLE / "comments.jsonl"],
            env={**os.environ, "GRISTMILL_URL": service.url, "GRISTMILL_TOKEN": service.token},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert told.returncode == 0, told.stderr
    assert told.stdout == (EXAMPLE / "expected.txt").read_text(encoding="utf-8")


def test_the_readme_of_the_example_has_its_command() -> None:
    folder = EXAMPLE.relative_to(ROOT)
    assert f"python {folder}/client.py {folder}/comments.jsonl" in (EXAMPLE / "README.md").read_text(encoding="utf-8")
    assert len((EXAMPLE / "client.py").read_text(encoding="utf-8").splitlines()) <= 80
