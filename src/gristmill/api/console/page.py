"""What a page of the console is: an address, who may see it, and a function that says what to show."""

from __future__ import annotations

import dataclasses
import urllib.parse
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import msgspec

from gristmill.api.calls import Call, read_body
from gristmill.api.calls.operation import Access
from gristmill.api.console.pace import PaceWatch
from gristmill.api.console.traffic import TrafficWatch
from gristmill.api.problems import Fault, problem
from gristmill.api.security import RequestRates
from gristmill.api.services import Services

__all__ = ["Console", "Nav", "Page", "Redirect", "View", "go_back", "read_form"]

FORM = "application/x-www-form-urlencoded"
FORM_BYTES_MAX = 64 * 1024
FIELDS_MAX = 100


@dataclasses.dataclass(frozen=True, kw_only=True)
class Console:
    """What pages stand on.

    Attributes:
        base_path: what a proxy puts in front of every path, such as `/gristmill`; empty for none.
        logins: how often each address may try a token that is not good.
        pace: how quickly records come and go, over the last minute.
        traffic: how much came and went, over the last day.
        started_at_ms: since when this process serves.
    """

    services: Services
    base_path: str
    logins: RequestRates
    pace: PaceWatch
    traffic: TrafficWatch
    started_at_ms: int


class View:
    """Shows a template with these values, under the title of the page unless another is given."""

    def __init__(self, template: str, *, title: str = "", status: int = 200, **values: Any) -> None:
        self.template = template
        self.title = title
        self.status = status
        self.values = values


@dataclasses.dataclass(frozen=True)
class Redirect:
    """Sends the browser to another page.

    Attributes:
        path: of this console, without the base path.
        session: the token that the browser keeps from now on; empty to make it forget, None to leave it alone.
    """

    path: str
    session: str | None = None


def go_back(path: str, done: str) -> Redirect:
    """Return to a page that then says what was done."""
    return Redirect(f"{path}?{urllib.parse.urlencode({'done': done})}")


Handle = Callable[[Console, Call], Awaitable[View | Redirect]]


class Nav(msgspec.Struct, frozen=True):
    """An entry of the navigation. `key` is what is pressed after `g` to get there."""

    label: str
    key: str
    order: int


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path.

    Attributes:
        name: stable, in the form of an operation id; counters tell it.
        access: the least role that may call it, or `public`.
        path: below `/console`, parameters as `{name}`.
        nav: where it stands in the navigation; None for pages that are reached from others.
        section: name of the page whose entry is marked as current; its own by default.
    """

    name: str
    path: str
    title: str
    access: Access
    handle: Handle
    method: Literal["GET", "POST"] = "GET"
    nav: Nav | None = None
    section: str = ""


async def read_form(call: Call, *, bytes_max: int = FORM_BYTES_MAX) -> dict[str, str]:
    """Return the fields of a form that was posted, each at most once.

    Raises:
        ProblemRaised: `validation`, `too-large`, `unsupported-media-type`.
    """
    raw = await read_body(call, media_types=(FORM,), bytes_max=bytes_max)
    try:
        pairs = urllib.parse.parse_qsl(raw.decode(), keep_blank_values=True, errors="strict", max_num_fields=FIELDS_MAX)
    except ValueError as error:
        raise problem("validation", errors=[Fault("", f"the form cannot be read: {error}")]) from error
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise problem("validation", errors=[Fault("", "a field is given twice")])
    return fields
