"""YAML whose keys know their lines, so that a refusal can say where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from gristmill.domain.errors import ConfigError

__all__ = ["LINES", "is_key", "line_of", "load_yaml", "without_lines"]

LINES = "\0lines"
"""Every mapping holds the lines of its keys under this one, which no file can hold."""


def load_yaml(text: str, *, file: str) -> Any:
    """Return the content of a YAML text with the lines of all keys; plain values only.

    Raises:
        ConfigError: no valid YAML, or a key that stands twice; names file and line.
    """
    try:
        return yaml.load(text, _LineLoader)  # a SafeLoader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 0
        problem = str(getattr(error, "problem", None) or error).splitlines()[0]
        raise ConfigError(f"{file}:{line}: no valid YAML: {problem}", advice="mend the file") from error


def line_of(fields: Mapping[str, Any], key: object = None) -> int:
    """Return the line of a key, or the first line of the mapping where it has no such key; 0 if unknown."""
    lines = fields.get(LINES, {})
    return int(lines.get(key) or min(lines.values(), default=0))


def is_key(key: object) -> bool:
    """Whether a key of a loaded mapping stood in the file."""
    return key != LINES


def without_lines(value: Any) -> Any:
    """Return the same content as plain data."""
    if isinstance(value, dict):
        return {key: without_lines(inner) for key, inner in value.items() if key != LINES}
    if isinstance(value, list):
        return [without_lines(inner) for inner in value]
    return value


class _LineLoader(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        lines: dict[Any, int] = {}
        for key_node, _value in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in lines:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} stands twice", key_node.start_mark)
            lines[key] = key_node.start_mark.line + 1
        mapping = super().construct_mapping(node, deep=True)
        mapping[LINES] = lines
        return mapping
