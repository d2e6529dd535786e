"""Reads a file of Routes, or refuses it with file, line, and the nearest known name.

routes: comments                 # the business; its topics are messages.comments.urgent, .normal and .bulk
types:
  comment.published:
    plans: [screen]              # each is called by itself
    tier: normal                 # urgent, normal or bulk
    order: key                   # or none: later records of a key do not wait for earlier ones
    stale: drop                  # or keep: records of a revision that is no longer the newest
    attempts: 200                # tries before it is a dead letter
  comment.heated:
    plans: [screen, review]
    tier: urgent
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, get_args

from gristmill.domain.errors import ConfigError
from gristmill.engine.messages.core.envelope import TIERS
from gristmill.engine.messages.core.routes import ATTEMPTS, Order, Route, Routes
from gristmill.plans.definitions.yaml_lines import is_key, line_of, load_yaml
from gristmill.plans.names import advise_known, check_name

__all__ = ["read_routes"]

KEYS = ("routes", "types")
TYPE_KEYS = ("plans", "tier", "order", "stale", "attempts")
STALE = ("keep", "drop")
PLANS_MAX = 100
ATTEMPTS_MAX = 10_000


def read_routes(text: str, *, file: str) -> Routes:
    """Return the routes of one business.

    Raises:
        ConfigError: no valid YAML, or something in it is wrong; names file and line.
    """
    root = load_yaml(text, file=file)
    if not isinstance(root, dict):
        raise ConfigError(f"{file}: has no keys", advice="it needs routes: and types:")
    reading = _Reading(file, root)
    reading.check_keys(root, KEYS)
    business = reading.name("routes", root.get("routes"))
    types = root.get("types")
    if not isinstance(types, dict) or not any(is_key(key) for key in types):
        reading.refuse("types", "is missing or empty", "write types: and below it a name with its plans:")
    return Routes(business, tuple(reading.route(business, types, key) for key in types if is_key(key)))


class _Reading:
    """A file that is being read; `place` is the mapping whose keys are looked at."""

    def __init__(self, file: str, root: Mapping[str, Any]) -> None:
        self._file = file
        self._place = root

    def refuse(self, key: object, problem: str, advice: str) -> NoReturn:
        line = line_of(self._place, key)
        place = f"{self._file}:{line}" if line else self._file
        raise ConfigError(f"{place}: {key}: {problem}", advice=advice)

    def check_keys(self, fields: Mapping[str, Any], known: Sequence[str]) -> None:
        self._place = fields
        for key in fields:
            if is_key(key) and key not in known:
                self.refuse(key, "is not known here", advise_known(str(key), known))

    def name(self, key: object, value: object) -> str:
        if value is None:
            self.refuse(key, "is missing", f"write {key}: NAME")
        try:
            check_name(str(key), value, refuse=ConfigError)
        except ConfigError as error:
            self.refuse(key, f"is {value!r}", error.advice)
        return str(value)

    def route(self, business: str, types: Mapping[str, Any], type_: object) -> Route:
        self._place = types
        name = self.name(type_, type_)
        fields = types[name] if isinstance(type_, str) else None
        if not isinstance(fields, dict):
            self.refuse(type_, "has no keys", "it needs plans: [PLAN]")
        self.check_keys(fields, TYPE_KEYS)
        order: Order = "none" if self.one_of("order", get_args(Order), "key") == "none" else "key"
        tier = self.one_of("tier", TIERS, "normal")
        return Route(
            type=name,
            business=business,
            tier=next(known for known in TIERS if known == tier),
            plans=self.plans(),
            order=order,
            drops_stale=self.one_of("stale", STALE, "keep") == "drop",
            attempts=self.attempts(),
        )

    def one_of(self, key: str, known: Sequence[str], default: str) -> str:
        value = self._place.get(key, default)
        if value not in known:
            self.refuse(key, f"is {value!r}", advise_known(str(value), known))
        return str(value)

    def plans(self) -> tuple[str, ...]:
        value = self._place.get("plans")
        if not isinstance(value, list) or not 1 <= len(value) <= PLANS_MAX:
            self.refuse("plans", "is missing or no list", f"write 1 to {PLANS_MAX} plan keys: [screen]")
        return tuple(dict.fromkeys(self.name("plans", plan) for plan in value))

    def attempts(self) -> int:
        value = self._place.get("attempts", ATTEMPTS)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= ATTEMPTS_MAX:
            self.refuse("attempts", f"is {value!r}", f"write a whole number from 1 to {ATTEMPTS_MAX}")
        return value
