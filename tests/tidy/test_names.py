"""Names tell what a file holds: modules, public names of a module, and tests of numbered checks."""

import ast
import re

from tests.tidy.tree import TrackedFile, package_files, python_files, report

# Words that say nothing about what is inside and so attract everything.
BANNED_MODULES = frozenset(
    {"base", "common", "handler", "handlers", "helper", "helpers", "manager", "misc", "utils", "util"}
)
PUBLIC_NAMES_MAX = 10

ACCEPTANCE_AREAS = "BT|DI|EN|HR|ID|IN|IV|MS|OB|OP|OR|RS|RT|SC|ST|UN"
NUMBERED_TEST = re.compile(rf"test_(AC_({ACCEPTANCE_AREAS})_\d{{3}}|P\d{{1,2}})_[a-z0-9_]+")
NUMBERED_START = re.compile(r"test_(AC|P\d)", re.IGNORECASE)


def test_no_module_has_a_name_that_says_nothing() -> None:
    offences = [
        f"{file.path}: the word {word!r}"
        for file in python_files()
        for word in (file.path.stem.strip("_"), file.path.parent.name)
        if word in BANNED_MODULES
    ]
    assert not offences, report(offences, advice="Name these modules after the noun they hold:")


def test_every_public_module_lists_its_public_names() -> None:
    offences = [
        f"{file.path}: public names, but no __all__"
        for file in package_files()
        if is_public(file) and public_definitions(file) and listed_names(file) is None
    ]
    assert not offences, report(offences, advice="Add __all__, most important name first:")


def test_every_public_definition_is_listed_or_private() -> None:
    offences = [
        f"{file.path}: {name}"
        for file in package_files()
        if is_public(file) and (listed := listed_names(file)) is not None
        for name in public_definitions(file)
        if name not in listed
    ]
    advice = "Put these names into __all__, or start them with an underscore if only their module calls them:"
    assert not offences, report(offences, advice=advice)


def test_no_module_has_more_public_names_than_fit_on_a_screen() -> None:
    offences = [
        f"{file.path}: {len(listed)} names, limit {PUBLIC_NAMES_MAX}"
        for file in package_files()
        # The front of a package lists what its modules offer; only modules are measured.
        if file.path.name != "__init__.py"
        and (listed := listed_names(file)) is not None
        and len(listed) > PUBLIC_NAMES_MAX
    ]
    assert not offences, report(offences, advice="Split these modules by noun, or make names private:")


def test_every_test_of_a_numbered_check_is_named_after_it() -> None:
    offences = [
        f"{file.path}:{function.lineno} {function.name}"
        for file in python_files()
        for function in file.functions()
        if NUMBERED_START.match(function.name) and not NUMBERED_TEST.fullmatch(function.name)
    ]
    advice = "Name these like test_AC_UN_007_a_sentence (three digits) or test_P4_a_sentence:"
    assert not offences, report(offences, advice=advice)


def is_public(file: TrackedFile) -> bool:
    """Whether others may import this module: no part of its path starts with an underscore."""
    return not any(part.startswith("_") and part != "__init__.py" for part in file.path.parts)


def public_definitions(file: TrackedFile) -> list[str]:
    """Functions and classes that the module defines at its top without a leading underscore."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [node.name for node in file.syntax.body if isinstance(node, kinds) and not node.name.startswith("_")]


def listed_names(file: TrackedFile) -> list[str] | None:
    """The names of `__all__`, or None where the module has none."""
    for node in file.syntax.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List() | ast.Tuple() as value):
                return [str(ast.literal_eval(name)) for name in value.elts]
    return None
