"""Turns templates and values into HTML. Everything is escaped, and a name that nobody gave is an error."""

from __future__ import annotations

import re
import shlex
import urllib.parse
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from gristmill.api.console.assets import read_assets
from gristmill.domain.front.times import is_calendar_time, write_time

__all__ = [
    "STEERING",
    "build_environment",
    "make_url",
    "write_count",
    "write_duration",
    "write_moment",
    "write_plain",
    "write_rate",
    "write_said",
]

PACKAGE = "gristmill.api.console"
S, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
STEPS = ((DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (S, "s"))

STEERING = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Characters that nobody sees and that turn text around, hide it or break it: people who judge it should see them."""


@lru_cache(maxsize=8)
def build_environment(base_path: str) -> Environment:
    """Return the templates; each is compiled when it is first needed, and once for a process."""
    url = make_url(base_path)
    environment = Environment(
        loader=PackageLoader(PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: "" if value is None else value,
    )
    environment.filters |= {
        "count": write_count,
        "duration": write_duration,
        "moment": write_moment,
        "plain": write_plain,
        "rate": write_rate,
        "said": write_said,
        "shell": shlex.quote,
    }
    environment.globals |= {"url": url, "asset": lambda name: url(f"/console/static/{read_assets().path_of(name)}")}
    return environment


def make_url(base_path: str) -> Callable[..., str]:
    """Return what writes addresses: `url("/console/items", text="a")`. Empty values are left out."""

    def url(path: str, **query: Any) -> str:
        given = {name: value for name, value in query.items() if value not in (None, "")}
        return base_path + path + (f"?{urllib.parse.urlencode(given)}" if given else "")

    return url


def write_count(number: int) -> str:
    """Return a number with its thousands apart."""
    return f"{number:,}".replace(",", "\u202f")


def write_rate(per_s: float | None) -> str:
    """Return a rate per second; a dash where it was not measured yet."""
    if per_s is None:
        return "–"
    return write_count(round(per_s)) if per_s >= 10 else f"{per_s:.1f}"


def write_duration(ms: int | float) -> str:
    """Return a time span in its two largest units."""
    if ms < S:
        return f"{round(ms)} ms"
    for index, (step, unit) in enumerate(STEPS):
        if ms >= step:
            rest = int(ms % step)
            further = STEPS[index + 1 : index + 2]
            smaller = "".join(f" {rest // size} {name}" for size, name in further if rest // size)
            return f"{int(ms // step)} {unit}{smaller}"
    return "0 s"


def write_moment(at_ms: int, *, now_ms: int | None = None) -> Markup:
    """Return a time in UTC; the page adds how long ago that was, and shows it in the reader's zone if they like."""
    if not is_calendar_time(at_ms):
        return Markup("<span>no time</span>")
    iso = write_time(at_ms)
    shown = f"{iso[:10]} {iso[11:19]} UTC"
    ago = "" if now_ms is None else _write_ago(now_ms - at_ms)
    return Markup('<time datetime="{}"><span class="at">{}</span> <span class="ago">{}</span></time>').format(
        iso, shown, ago
    )


def write_plain(text: str) -> str:
    """Return what somebody else wrote, for a place that takes no tags; steering characters visible."""
    return STEERING.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)


def write_said(text: str) -> Markup:
    """Return what somebody else wrote: apart from our own text whatever its direction, steering characters visible."""
    parts: list[Markup] = []
    end = 0
    for found in STEERING.finditer(text):
        parts += [escape(text[end : found.start()]), _show_character(found[0])]
        end = found.end()
    parts.append(escape(text[end:]))
    return Markup('<bdi dir="auto" class="said">{}</bdi>').format(Markup("").join(parts))


def _write_ago(ms: int) -> str:
    if abs(ms) < S:
        return "now"
    return f"{_largest(ms)} ago" if ms > 0 else f"in {_largest(-ms)}"


def _largest(ms: int) -> str:
    return next(f"{ms // step} {unit}" for step, unit in STEPS if ms >= step)


def _show_character(character: str) -> Markup:
    return Markup('<span class="steering">U+{:04X}</span>').format(ord(character))
