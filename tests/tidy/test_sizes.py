"""Files, folders and functions stay small enough to be read in one go. There is no list of exceptions."""

import ast
from collections import Counter

from tests.tidy.tree import FunctionNode, python_files, report

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
POSITIONAL_MAX = 5
FOLDER_FILES_MAX = 12


def test_no_python_file_is_longer_than_its_limit() -> None:
    offences = [
        f"{file.path}: {file.line_count} lines, limit {FILE_LINES_MAX}"
        for file in python_files()
        if file.line_count > FILE_LINES_MAX
    ]
    assert not offences, report(offences, advice="Split these files by noun, not by layer:")


def test_no_folder_holds_more_python_files_than_its_limit() -> None:
    counts = Counter(file.path.parent for file in python_files())
    offences = [
        f"{folder}: {count} files, limit {FOLDER_FILES_MAX}"
        for folder, count in sorted(counts.items())
        if count > FOLDER_FILES_MAX
    ]
    assert not offences, report(offences, advice="Split these folders by noun:")


def test_no_function_is_longer_than_its_limit() -> None:
    offences = [
        f"{file.path}:{function.lineno} {function.name}: {lines} lines, limit {FUNCTION_LINES_MAX}"
        for file in python_files()
        for function in file.functions()
        if (lines := line_count(function)) > FUNCTION_LINES_MAX
    ]
    advice = "Keep the branches in these functions, move the straight leaves out:"
    assert not offences, report(offences, advice=advice)


def test_no_function_takes_more_positional_parameters_than_its_limit() -> None:
    offences = [
        f"{file.path}:{function.lineno} {function.name}: {count} positional, limit {POSITIONAL_MAX}"
        for file in python_files()
        for function in file.functions()
        if (count := positional_count(function)) > POSITIONAL_MAX
    ]
    advice = "Make parameters keyword-only past the second, or pass one value that holds them:"
    assert not offences, report(offences, advice=advice)


def line_count(function: FunctionNode) -> int:
    """Lines from `def` to the last one, docstring included, decorators not."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def positional_count(function: FunctionNode) -> int:
    """Parameters that a caller may give by position; the receiver of a method is none."""
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def test_the_measures_count_what_they_say() -> None:
    tree = ast.parse("class A:\n    def f(self, a, b, /, c, *, d):\n        '''Doc.'''\n        return a\n")
    function = next(node for node in ast.walk(tree) if isinstance(node, FunctionNode))
    assert (line_count(function), positional_count(function)) == (3, 3)
