"""The tracked files of the repository, read once. Stray files are not the project's and do not count."""

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
PACKAGE = PurePosixPath("src/gristmill")

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class TrackedFile:
    """One text file under version control."""

    path: PurePosixPath
    text: str

    @property
    def line_count(self) -> int:
        return len(self.text.splitlines())

    @cached_property
    def syntax(self) -> ast.Module:
        return ast.parse(self.text, filename=str(self.path))

    @property
    def is_python(self) -> bool:
        return self.path.suffix == ".py"

    @property
    def is_in_package(self) -> bool:
        return self.is_python and self.path.is_relative_to(PACKAGE)

    def functions(self) -> Iterator[FunctionNode]:
        for node in ast.walk(self.syntax):
            if isinstance(node, FunctionNode):
                yield node


@lru_cache(maxsize=1)
def tracked_files() -> list[TrackedFile]:
    """Every tracked text file that still exists, by path."""
    # safe.directory: CI clones as one user and tests as another; reading names is harmless.
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    paths = sorted(PurePosixPath(name) for name in listed.split("\0") if name)
    return [TrackedFile(path, text) for path in paths if (text := _read_text(ROOT / path)) is not None]


def python_files() -> list[TrackedFile]:
    """Every tracked Python file."""
    return [file for file in tracked_files() if file.is_python]


def package_files() -> list[TrackedFile]:
    """Every tracked Python file of the installed package."""
    return [file for file in tracked_files() if file.is_in_package]


def report(offences: list[str], *, advice: str) -> str:
    """The message of a failed check: what to do, then one line per offence."""
    return "\n".join([advice, *(f"  {line}" for line in offences)])


def _read_text(path: Path) -> str | None:
    if not path.is_file():
        return None
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None
