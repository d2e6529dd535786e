"""Reads the file of a Subscription, or refuses it with file, line, and the nearest known name.

subscription: spam-desk               # name; metrics and commands use it
tenant: main                          # whose items
rows: '"spam" in item.labels'         # CEL over item; every item where it is left out
columns: [text, author, "labels.*"]   # patterns of column names; all where it is left out
points: [final, change]               # final: a run has ended; change: anything else
to: {webhook: "https://example.org/hook"}   # or {topic: delivery.spam}
batch: 1                              # messages in one request at most
max_rate: 50                          # messages a second; 0: any number
order: key                            # or none
from: now                             # or earliest, a position, or a time in RFC 3339
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NoReturn, get_args

from gristmill.deliver.core.document import GROUPS, NAMES
from gristmill.deliver.core.selecting import BadRows, compile_selector
from gristmill.domain.delivery import POINTS, TOPIC_PREFIX, Order, Point, Subscription
from gristmill.domain.errors import ConfigError
from gristmill.domain.input_key import TENANT_DEFAULT
from gristmill.plans.definitions.yaml_lines import is_key, line_of, load_yaml
from gristmill.plans.names import advise_known, check_name

__all__ = ["read_start", "read_subscription"]

KEYS = (
    "subscription",
    "tenant",
    "rows",
    "columns",
    "points",
    "to",
    "batch",
    "max_rate",
    "order",
    "from",
)
TO_KEYS = ("webhook", "topic")
COLUMNS_MAX = 100
BATCH_MAX = 100
RATE_MAX = 10_000
ROWS_CHARS_MAX = 4_000
PATTERN = re.compile(r"[\w.*?:-]{1,200}")
HASH_DIGITS = 16


def read_subscription(text: str, *, file: str, is_new: bool = False) -> Subscription:
    """Return a Subscription.

    Args:
        is_new: it is to be published: columns that no item can have are refused too.
    Raises:
        ConfigError: no valid YAML, or something in it is wrong; names file and line.
    """
    root = load_yaml(text, file=file)
    if not isinstance(root, dict):
        raise ConfigError(f"{file}: has no keys", advice="it needs subscription: and to:")
    reading = _Reading(file, root)
    webhook, topic = reading.target()
    subscription = Subscription(
        name=reading.name("subscription", None),
        tenant=reading.name("tenant", TENANT_DEFAULT),
        rows=reading.text("rows", most=ROWS_CHARS_MAX),
        columns=reading.columns(is_new=is_new),
        points=reading.points(),
        webhook=webhook,
        topic=topic,
        batch=int(reading.number("batch", 1, low=1, high=BATCH_MAX, is_whole=True)),
        max_rate=reading.number("max_rate", 0, low=0, high=RATE_MAX),
        order=reading.order(),
        start=reading.start(),
        text=text,
        hash=hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS],
    )
    try:
        compile_selector(subscription)
    except BadRows as error:
        reading.refuse("rows", error.problem, error.advice)
    return subscription


def read_start(text: str) -> int | None:
    """Return a moment in UTC epoch ms; None for a text that is none."""
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return None if moment.tzinfo is None else round(moment.timestamp() * 1000)


class _Reading:
    """A file that is being read."""

    def __init__(self, file: str, root: Mapping[str, Any]) -> None:
        self._file = file
        self._root = root
        for key in root:
            if is_key(key) and key not in KEYS:
                self.refuse(key, "is no key of a subscription", advise_known(str(key), KEYS))

    def refuse(self, key: str, problem: str, advice: str) -> NoReturn:
        line = line_of(self._root, key)
        place = f"{self._file}:{line}" if line else self._file
        raise ConfigError(f"{place}: {key}: {problem}", advice=advice)

    def name(self, key: str, default: str | None) -> str:
        value = self._root.get(key, default)
        if value is None:
            self.refuse(key, "is missing", f"write {key}: NAME")
        try:
            check_name(key, value, refuse=ConfigError)
        except ConfigError as error:
            self.refuse(key, f"is {value!r}", error.advice)
        return str(value)

    def text(self, key: str, *, most: int) -> str:
        value = self._root.get(key, "")
        if not isinstance(value, str) or len(value) > most:
            self.refuse(key, f"is no text of at most {most} characters", f"write {key}: '...'")
        return value

    def number(self, key: str, default: float, *, low: float, high: float, is_whole: bool = False) -> float:
        value = self._root.get(key, default)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not low <= value <= high or (is_whole and value != int(value)):
            self.refuse(key, f"is {value!r}", f"write a number from {low} to {high}")
        return float(value)

    def columns(self, *, is_new: bool) -> tuple[str, ...]:
        value = self._root.get("columns", ["*"])
        if not isinstance(value, list) or not 1 <= len(value) <= COLUMNS_MAX:
            self.refuse("columns", "is no list", f"write 1 to {COLUMNS_MAX} patterns: [text, 'labels.*']")
        for pattern in value:
            if not isinstance(pattern, str) or not PATTERN.fullmatch(pattern):
                self.refuse("columns", f"has {pattern!r}", "patterns are made of letters, digits and _ - . : * ?")
            head, dot, _ = pattern.partition(".")
            if is_new and head in GROUPS and not dot:
                self.refuse("columns", f"has {pattern!r}", f"write '{head}.*' for all of them")
            if is_new and head not in NAMES and not set(head) & set("*?"):
                self.refuse("columns", f"has {pattern!r}", advise_known(head, NAMES))
        return tuple(value)

    def points(self) -> tuple[Point, ...]:
        value = self._root.get("points", list(POINTS))
        if not isinstance(value, list) or not value:
            self.refuse("points", "is no list", f"write some of [{', '.join(POINTS)}]")
        for point in value:
            if point not in POINTS:
                self.refuse("points", f"has {point!r}", advise_known(str(point), POINTS))
        return tuple(dict.fromkeys(value))

    def order(self) -> Order:
        value = self._root.get("order", "key")
        if value not in get_args(Order):
            self.refuse("order", f"is {value!r}", advise_known(str(value), get_args(Order)))
        return "none" if value == "none" else "key"

    def target(self) -> tuple[str, str]:
        value = self._root.get("to")
        if not isinstance(value, dict) or len(keys := [key for key in value if is_key(key)]) != 1:
            self.refuse("to", "is not one receiver", "write to: {webhook: URL} or to: {topic: delivery.NAME}")
        key, target = keys[0], value[keys[0]]
        if key not in TO_KEYS:
            self.refuse("to", f"has {key!r}", advise_known(str(key), TO_KEYS))
        if not isinstance(target, str) or not target:
            self.refuse("to", f"{key} is {target!r}", f"write {key}: '...'")
        if key == "webhook":
            if not target.startswith(("https://", "http://")):
                self.refuse("to", f"webhook is {target!r}", "write an address that begins with https://")
            return target, ""
        self._check_topic(target)
        return "", target

    def _check_topic(self, topic: str) -> None:
        try:
            check_name("topic", topic, refuse=ConfigError)
        except ConfigError as error:
            self.refuse("to", f"topic is {topic!r}", error.advice)
        if not topic.startswith(TOPIC_PREFIX) or topic == TOPIC_PREFIX:
            self.refuse("to", f"topic is {topic!r}", f"topics of subscriptions begin with {TOPIC_PREFIX}")

    def start(self) -> str:
        value = self._root.get("from", "now")
        if isinstance(value, datetime):
            value = value.isoformat()
        text = str(value)
        if text not in ("now", "earliest") and not text.isdecimal() and read_start(text) is None:
            self.refuse(
                "from", f"is {text!r}", "write now, earliest, a position, or a time such as 2026-11-30T12:00:00Z"
            )
        return text
