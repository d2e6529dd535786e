"""The shipped list of framework modules is what is there: start-up refuses whatever it does not list."""

from pathlib import PurePosixPath

import pytest

from gristmill.plans.manifest import FRAMEWORK_MODULES
from tests.tidy.tree import PACKAGE, package_files


@pytest.mark.parametrize("room", sorted(FRAMEWORK_MODULES))
def test_the_manifest_lists_the_modules_of_its_rooms(room: str) -> None:
    folder = PACKAGE.parent / PurePosixPath(*room.split("."))
    inside = [file.path.relative_to(folder) for file in package_files() if file.path.is_relative_to(folder)]
    modules = {path.with_suffix("").parts[0] for path in inside} - {"__init__"}
    assert modules == FRAMEWORK_MODULES[room]
