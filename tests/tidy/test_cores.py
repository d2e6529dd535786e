"""A core gets time and chance as arguments, so it may import nothing that could touch either.

The import contracts hold the same for whole packages; this check also sees single modules (`lease_core.py`),
awaits, and a core that leans on the shell beside it. The list of what touches the world is the contract's.
"""

import ast
import tomllib
from collections.abc import Iterator

from tests.tidy.tree import PACKAGE, ROOT, TrackedFile, package_files, report

CORE_MAY_STAND_ON = ("gristmill.domain", "gristmill.ports", "gristmill.plans")
CONTRACT = "Domain and cores know no IO, clock or chance"


def test_no_core_imports_what_touches_the_world() -> None:
    touches_the_world = modules_that_touch_the_world()
    offences = [
        f"{file.path}:{line} imports {name}"
        for file in core_files()
        for line, name in imports(file)
        if name.split(".")[0] in touches_the_world
    ]
    assert not offences, report(offences, advice="Hand these cores the value (now_ms, a draw) and let the shell act:")


def test_no_core_leans_on_its_shell() -> None:
    offences = [
        f"{file.path}:{line} imports {name}"
        for file in core_files()
        for line, name in imports(file)
        if name.split(".")[0] == "gristmill" and not name.startswith(CORE_MAY_STAND_ON) and not is_core(name.split("."))
    ]
    assert not offences, report(offences, advice="Move the value these cores need into a core or into domain:")


def test_no_core_awaits() -> None:
    waits = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    offences = [
        f"{file.path}:{node.lineno}"
        for file in core_files()
        for node in ast.walk(file.syntax)
        if isinstance(node, waits)
    ]
    assert not offences, report(offences, advice="Return a command and let the shell wait:")


def modules_that_touch_the_world() -> frozenset[str]:
    """Modules that do IO, read a clock, draw at random, log, or run things side by side."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    return next(frozenset(one["forbidden_modules"]) for one in contracts if one["name"] == CONTRACT)


def core_files() -> list[TrackedFile]:
    """Modules named `core` or `*_core`, and everything in a package named `core`."""
    return [file for file in package_files() if is_core(file.path.with_suffix("").parts)]


def is_core(parts: tuple[str, ...] | list[str]) -> bool:
    """Whether a module path lies in a core."""
    return any(part == "core" or part.endswith("_core") for part in parts)


def imports(file: TrackedFile) -> Iterator[tuple[int, str]]:
    """(line, full module name) of every import of a file, those inside functions too."""
    package = file.path.relative_to(PACKAGE.parent).parent.parts
    for node in ast.walk(file.syntax):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, level=level, names=names):
                start = [*package[: len(package) - level + 1]] if level else []
                origin = ".".join([*start, *([module] if module else [])])
                # `from gristmill.engine import core` names the module only with its last part.
                yield from ((node.lineno, f"{origin}.{alias.name}") for alias in names)
