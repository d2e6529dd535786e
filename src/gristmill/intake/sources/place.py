"""The file of a Source while it is read: takes values out, and refuses with file and line what does not fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from gristmill.domain.errors import ConfigError
from gristmill.intake.sources.paths import BadPath, compile_path
from gristmill.plans.definitions.yaml_lines import is_key, line_of
from gristmill.plans.names import advise_known, check_name

__all__ = ["Place"]


class Place:
    """The file being read; every refusal carries its name and a line."""

    def __init__(self, file: str) -> None:
        self._file = file

    def refuse(self, thing: str, line: int, problem: str, advice: str) -> NoReturn:
        """Raise a ConfigError that says where."""
        place = f"{self._file}:{line}" if line else self._file
        raise ConfigError(f"{place}: {thing}: {problem}", advice=advice)

    def check_keys(self, thing: str, fields: Mapping[Any, Any], known: Iterable[str]) -> None:
        """Refuse a key that means nothing."""
        for key in fields:
            if is_key(key) and key not in known:
                self.refuse(thing, line_of(fields, key), f"unknown key {key!r}", advise_known(str(key), known))

    def read_text(self, fields: Mapping[Any, Any], key: str, default: str | None) -> str:
        """Return a text, not empty; without `default` it must be there."""
        value = fields.get(key, default)
        if not isinstance(value, str) or (not value.strip() and default is None):
            self.refuse(key, line_of(fields, key), "is missing or no text", f"write {key}: ...")
        return value

    def read_name(self, fields: Mapping[Any, Any], key: str, default: str) -> str:
        """Return a name that can stand in keys and metrics."""
        value = self.read_text(fields, key, default or None)
        try:
            check_name(key, value, refuse=ConfigError)
        except ConfigError as error:
            self.refuse(key, line_of(fields, key), f"is {value!r}", error.advice)
        return value

    def read_choice(self, fields: Mapping[Any, Any], key: str, known: Iterable[Any], default: str) -> Any:
        """Return one of the known words."""
        value = fields.get(key, default)
        if value not in known:
            self.refuse(key, line_of(fields, key), f"is {value!r}", advise_known(str(value), known))
        return value

    def read_mapping(self, fields: Mapping[Any, Any], key: str, known: Iterable[str]) -> Mapping[Any, Any]:
        """Return a mapping with known keys, empty where there is none."""
        value = fields.get(key, {})
        if not isinstance(value, dict):
            self.refuse(key, line_of(fields, key), "has no keys", f"known: {', '.join(known)}")
        self.check_keys(key, value, known)
        return value

    def read_list(self, fields: Mapping[Any, Any], key: str, *, most: int) -> list[Any]:
        """Return a list, empty where there is none."""
        value = fields.get(key, [])
        if not isinstance(value, list) or len(value) > most:
            self.refuse(key, line_of(fields, key), "is no list or too long", f"write a list of at most {most}")
        return value

    def check_path(self, thing: str, line: int, path: object) -> str:
        """Return a JSONPath."""
        if not isinstance(path, str) or not path.startswith("$"):
            self.refuse(thing, line, f"path is {path!r}", 'write a JSONPath in quotes: "$.field"')
        try:
            compile_path(path)
        except BadPath as error:
            self.refuse(thing, line, f"no JSONPath: {error}", f"mend {path}")
        return path
