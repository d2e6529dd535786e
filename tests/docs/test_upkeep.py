"""The guides to backups and to retention run from top to bottom as a person would type them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gristmill.runtime.settings import RetentionSection

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


@pytest.mark.slow
def test_the_guide_to_retention_works_as_it_stands(tmp_path: Path) -> None:
    typed = type_guide("keep-the-store-small.md", tmp_path)
    assert typed.returncode == 0, typed.stdout + typed.stderr
    assert "rows let go: none" in typed.stdout
    assert "bytes now" in typed.stdout


def test_the_guide_names_every_setting_with_its_default() -> None:
    page = (ROOT / "docs" / "guides" / "keep-the-store-small.md").read_text(encoding="utf-8")
    section = RetentionSection()
    for name in section.__struct_fields__:
        value = getattr(section, name)
        told = f"`{name} = {value:g}`" if name.endswith("_days") else f"`{name}"
        assert told in page, told
