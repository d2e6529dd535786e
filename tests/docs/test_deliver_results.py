"""The guide to deliveries runs from top to bottom as a person would type it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gristmill.runtime.settings_faces import DeliverySection
from tests.docs.test_http_service import BLOCK, ROOT, TIMEOUT_S, free_port

GUIDE = ROOT / "docs" / "guides" / "deliver-results.md"


@pytest.mark.slow
def test_the_guide_works_as_it_stands(tmp_path: Path) -> None:
    port, hook = free_port(), free_port()
    blocks = BLOCK.findall(GUIDE.read_text(encoding="utf-8"))
    assert len(blocks) >= 4
    script = "\n".join(["set -euo pipefail -m", "trap 'kill $(jobs -p) 2>/dev/null || :' EXIT", *blocks])
    # A test may not take the ports that the page names; everything else is typed as it stands.
    script = re.sub(r"\b9000\b", str(hook), script.replace("127.0.0.1:8080", f"127.0.0.1:{port}"))
    env = {**os.environ, "GRISTMILL_API__PORT": str(port), "GRISTMILL_GRPC__PORT": "0"}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    typed = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert typed.returncode == 0, typed.stdout + typed.stderr + (tmp_path / "gristmill.log").read_text(encoding="utf-8")
    received = (tmp_path / "received.txt").read_text(encoding="utf-8")
    assert received.startswith("test ")
    assert "cheap-likes" in received
    assert "Great video" not in received
    assert "msg_" in (tmp_path / "shown.txt").read_text(encoding="utf-8")
    assert (tmp_path / "rotated.txt").read_text(encoding="utf-8").startswith("secret whsec_")


def test_the_guide_names_every_setting() -> None:
    page = GUIDE.read_text(encoding="utf-8")
    for name in DeliverySection.__struct_fields__:
        assert f"`{name}" in page, name
