"""The guide to backups runs from top to bottom as a person would type it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TIMEOUT_S = 100
COMMENTS = "id,text\nc1,Great video!\nc2,Buy 1000 followers for $5 https://cheap-likes.example\nc3,Thank you\n"


def type_guide(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Type all shell blocks of a guide, in a folder with a file of comments."""
    (folder / "comments.csv").write_text(COMMENTS, encoding="utf-8")
    page = ROOT / "docs" / "guides" / name
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    assert len(blocks) >= 3
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = ["bash", "-c", "\n".join(["set -euo pipefail", *blocks])]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


@pytest.mark.slow
def test_the_guide_to_backups_works_as_it_stands(tmp_path: Path) -> None:
    typed = type_guide("back-up-and-restore.md", tmp_path)
    assert typed.returncode == 0, typed.stdout + typed.stderr
    assert "gristmill.sqlite" in typed.stdout
    assert '"items": 3' in typed.stdout
    assert "c1" in (tmp_path / "explained.txt").read_text(encoding="utf-8")
