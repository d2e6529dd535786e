"""Merges settings from flags, environment, file and defaults, and remembers where each value came from."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from gristmill.domain.errors import ConfigError
from gristmill.plans.names import advise_known
from gristmill.runtime.settings import Settings

__all__ = ["FILE_NAME", "Explained", "LoadedSettings", "RUN_DEFAULTS", "load_settings"]

T = TypeVar("T", bound=msgspec.Struct)

FILE_NAME = "gristmill.toml"
ENV_PREFIX = "GRISTMILL_"
ENV_JOIN = "__"
ENV_FILE_SUFFIX = "_FILE"

PATH_KEYS = (
    *("main.state_dir", "main.log_file", "flows.paths", "sources.paths", "screen.rules", "screen.head"),
    *("media.match_lists", "media.folder", "credentials.key_file", "credentials.token_file"),
    "log.ca_file",
)
"""Relative paths in a file are meant from the folder of that file."""

SECRET_KEYS = ("log.password",)
"""Shown to nobody."""

SECRET_SHOWN = "***"

RUN_DEFAULTS: dict[str, Any] = {
    "dispatcher.max_in_flight": 512,
    "dispatcher.recovery_delay_s": 1,
    "dispatcher.grace_s": 5,
    "engine.grace_s": 5,
    "main.shutdown_drain_timeout_s": 5,
}
"""Defaults of `gristmill run`: a file is worked off at full speed, and a person waits: for the last retry, and for the
end after Ctrl-C, when what is cut short is only done again later."""


class Explained(msgspec.Struct, frozen=True):
    """One setting for a person: its value, where that came from, and what it is for."""

    key: str
    value: Any
    origin: str
    description: str


class LoadedSettings(msgspec.Struct, frozen=True):
    """Checked settings with the origin of each key that is not a default."""

    settings: Settings
    origins: dict[str, str]

    def explain(self) -> list[Explained]:
        """Return every setting in the order of the schema."""
        return [
            Explained(key, _show(key, value), self.origins.get(key, "default"), description)
            for key, _, value, description in _walk(self.settings)
        ]

    def with_default(self, key: str, value: Any, *, origin: str) -> LoadedSettings:
        """Return the same with another value, unless somebody has set that key."""
        if key in self.origins:
            return self
        return LoadedSettings(_replace(self.settings, key, value), {**self.origins, key: origin})


def load_settings(
    *,
    file: Path | None,
    env: Mapping[str, str],
    flags: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> LoadedSettings:
    """Return the settings, or refuse.

    Args:
        file: the file to read; None means `gristmill.toml` in the working folder if there is one.
        flags: `section.key` -> value as given on the command line.
        defaults: `section.key` -> value that the command prefers.
    Raises:
        ConfigError: the file is missing or no TOML, a key is unknown, or a value has the wrong type.
    """
    types = {key: hint for key, hint, _, _ in _walk(Settings())}
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for key, value, origin, is_text in [
        *((key, value, "default of this command", False) for key, value in (defaults or {}).items()),
        *_read_file(file, types),
        *_read_env(env, types),
        *((key, value, "flag", False) for key, value in (flags or {}).items()),
    ]:
        values[key] = _convert(key, value, types, origin=origin, is_text=is_text)
        origins[key] = origin
    nested: dict[str, Any] = {}
    for key, value in values.items():
        *sections, name = key.split(".")
        place: dict[str, Any] = nested
        for section in sections:
            place = place.setdefault(section, {})
        place[name] = value
    return LoadedSettings(msgspec.convert(nested, Settings), origins)


Entry = tuple[str, Any, str, bool]
"""Key, value, origin, and whether the value is text to be parsed."""


def _read_file(file: Path | None, types: Mapping[str, Any]) -> Iterator[Entry]:
    path = file or Path(FILE_NAME)
    if not path.is_file():
        if file is not None:
            raise ConfigError("configuration file does not exist", value=str(file), advice="check --config")
        return
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigError("configuration file cannot be read", value=str(path), advice=str(error)) from error
    sections = {key.partition(".")[0] for key in types}
    for section, entries in content.items():
        if section not in sections:
            raise ConfigError(f"section in {path}", value=section, advice=advise_known(section, sections))
        if not isinstance(entries, dict):
            raise ConfigError(f"{section!r} in {path} is not a section", advice=f"write [{section}] on a line")
        for key, value in _flatten(section, entries, types):
            yield key, _anchor(key, value, path.parent), str(path), False


def _flatten(section: str, entries: Mapping[str, Any], types: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the keys of a section with their values, those of sections inside it too."""
    for name, value in entries.items():
        key = f"{section}.{name}"
        if isinstance(value, dict) and key not in types and any(known.startswith(f"{key}.") for known in types):
            yield from _flatten(key, value, types)
        else:
            yield key, value


def _read_env(env: Mapping[str, str], types: Mapping[str, Any]) -> Iterator[Entry]:
    for variable in sorted(env):
        if not variable.startswith(ENV_PREFIX) or ENV_JOIN not in variable:
            continue
        key = variable.removeprefix(ENV_PREFIX).lower().replace(ENV_JOIN, ".")
        if key not in types and variable.endswith(ENV_FILE_SUFFIX):
            key, value = key.removesuffix(ENV_FILE_SUFFIX.lower()), _read_secret(variable, env[variable])
        else:
            value = env[variable]
        yield key, value, variable, True


def _read_secret(variable: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"file named by {variable} cannot be read", value=path, advice=str(error)) from error


def _convert(key: str, value: Any, types: Mapping[str, Any], *, origin: str, is_text: bool) -> Any:
    if key not in types:
        raise ConfigError(f"unknown setting from {origin}", value=key, advice=advise_known(key, types))
    hint = types[key]
    if is_text and isinstance(value, str) and _is_list(hint):
        value = [part.strip() for part in value.split(",") if part.strip()]
    elif is_text and isinstance(value, str) and _is_table(hint):
        value = _read_table(key, value, origin=origin)
    try:
        return msgspec.convert(value, hint, strict=not is_text)
    except msgspec.ValidationError as error:
        raise ConfigError(f"setting {key!r} from {origin}", value=value, advice=_advise(error, value, hint)) from error


def _advise(error: msgspec.ValidationError, value: Any, hint: Any) -> str:
    kind = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    words = get_args(kind) if get_origin(kind) is Literal else ()
    return advise_known(str(value), words) if words else str(error)


def _show(key: str, value: Any) -> Any:
    return SECRET_SHOWN if key in SECRET_KEYS and value else value


def _anchor(key: str, value: Any, folder: Path) -> Any:
    if key not in PATH_KEYS or not value:
        return value
    if isinstance(value, list):
        return [str(folder / part) if isinstance(part, str) else part for part in value]
    return str(folder / value) if isinstance(value, str) else value


def _is_list(hint: Any) -> bool:
    return bool(get_args(hint)) and getattr(get_args(hint)[0], "__origin__", None) is tuple


def _is_table(hint: Any) -> bool:
    return bool(get_args(hint)) and getattr(get_args(hint)[0], "__origin__", None) is dict


def _read_table(key: str, text: str, *, origin: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ConfigError(f"setting {key!r} from {origin}", value=text, advice="write it as a JSON object") from error


def _walk(settings: msgspec.Struct, prefix: str = "") -> Iterator[tuple[str, Any, Any, str]]:
    """Yield (key, type, value, description) of every setting; sections may stand inside sections, after their keys."""
    hints = get_type_hints(type(settings), include_extras=True)
    for name in settings.__struct_fields__:
        value = getattr(settings, name)
        if isinstance(value, msgspec.Struct):
            yield from _walk(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", hints[name], value, _describe(hints[name])


def _replace(settings: T, key: str, value: Any) -> T:
    name, _, rest = key.partition(".")
    changed = _replace(getattr(settings, name), rest, value) if rest else value
    return msgspec.structs.replace(settings, **{name: changed})


def _describe(hint: Any) -> str:
    notes = [note.description for note in getattr(hint, "__metadata__", ()) if isinstance(note, msgspec.Meta)]
    return next((note for note in reversed(notes) if note), "")
