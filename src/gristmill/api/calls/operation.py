"""An operation of the API: where it is, who may call it, what it takes and answers. Routes and description follow."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

import msgspec

from gristmill.api.calls.call import Call, Reply
from gristmill.domain.front.access import Role

__all__ = ["Access", "Handle", "Operation", "Parameter"]

Access = Role | Literal["public"]
Handle = Callable[[Any, Call], Awaitable[Reply]]
"""Takes the services of the application that it is built into: `Services`, or those of a face of its own."""


class Parameter(msgspec.Struct, frozen=True):
    """A header that an operation looks at."""

    name: str
    text: str
    chars_max: int = 128


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path.

    Attributes:
        operation_id: stable for good; clients are generated from it.
        access: the least role that may call it, or `public`.
        path: parameters as `{name}`, in the form of OpenAPI.
        answer: shape of the answer; None where it has no body or a media type of its own.
        further_statuses: of good answers, with what they mean.
        problems: names of the catalogue beyond those that every operation, or every one with a body, may answer.
        example: a body that is valid, if it takes one.
    """

    operation_id: str
    method: Literal["GET", "POST", "DELETE", "PUT"]
    path: str
    summary: str
    access: Access
    handle: Handle
    answer: Any = None
    status: int = 200
    further_statuses: Mapping[int, str] = {}
    query: type[msgspec.Struct] | None = None
    headers: tuple[Parameter, ...] = ()
    body: Any = None
    body_media_type: str = "application/json"
    answer_media_type: str = "application/json"
    problems: tuple[str, ...] = ()
    example: Any = None
