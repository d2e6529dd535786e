"""One request and one answer."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable, Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec

from gristmill.api.problems import Fault, problem
from gristmill.domain.front.access import Principal
from gristmill.domain.ids import ItemId

__all__ = ["Call", "Reply", "reply"]

T = TypeVar("T", bound=msgspec.Struct)

INT64_DIGITS_MAX = 19
INT64_MAX = 2**63 - 1
HEADER_CHARS_MAX = 128

_encoder = msgspec.json.Encoder()


@dataclasses.dataclass(frozen=True)
class Call:
    """A request.

    Attributes:
        caller: who asks; None on routes that are open to everybody.
        path_values: what stands for the parameters of the path.
        query: parameters, each at most once.
        headers: by lower-case name.
        body: yields the body in parts.
        client: address of whoever asks, as far as it is known.
    """

    caller: Principal | None
    path: str
    path_values: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Callable[[], AsyncIterator[bytes]]
    client: str = ""

    @property
    def principal(self) -> Principal:
        """Who asks, on a route that wants to know."""
        if self.caller is None:
            raise problem("unauthorised")
        return self.caller

    def read_query(self, shape: type[T]) -> T:
        """Return the query parameters as a struct.

        Raises:
            ProblemRaised: `validation`: an unknown parameter, or a value of the wrong type.
        """
        known = _names_of(shape)
        faults = [Fault(name, "is not a parameter of this call") for name in self.query if name not in known]
        if faults:
            raise problem("validation", "query", errors=faults)
        try:
            return msgspec.convert(dict(self.query), shape, strict=False)
        except msgspec.ValidationError as error:
            message, _, place = str(error).partition(" - at `$.")
            raise problem("validation", "query", errors=[Fault(place.rstrip("`"), message)]) from error

    def item_id(self) -> ItemId:
        """Return the item id in the path.

        Raises:
            ProblemRaised: `not-found`: it is no id.
        """
        return ItemId(self.number("item_id"))

    def number(self, name: str) -> int:
        """Return a positive number of the path, as ids are.

        Raises:
            ProblemRaised: `not-found`: it is none.
        """
        text = self.path_values[name]
        is_id = text.isascii() and text.isdecimal() and len(text) <= INT64_DIGITS_MAX and int(text) <= INT64_MAX
        if not is_id:
            raise problem("not-found", f"{name} {text[:HEADER_CHARS_MAX]!r}")
        return int(text)


@dataclasses.dataclass(frozen=True)
class Reply:
    """An answer; `body` is encoded already.

    Attributes:
        parts: what follows `body`, made while it is sent. Whatever fails there breaks the answer off: it has begun.
    """

    body: bytes
    status: int = 200
    media_type: str = "application/json"
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    parts: AsyncIterator[bytes] | None = None


@cache
def _names_of(shape: type[msgspec.Struct]) -> frozenset[str]:
    """Return the names of a struct's fields: to find them out takes a quarter of the time of a request."""
    return frozenset([field.encode_name for field in msgspec.structs.fields(shape)])


def reply(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """Return a value as JSON."""
    return Reply(_encoder.encode(value), status, headers=headers or {})
