"""The catalogue. A problem has a type that never changes its meaning; callers decide by it, people read the detail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

__all__ = ["CATALOGUE", "PROBLEM_MEDIA_TYPE", "Fault", "Problem", "ProblemKind", "ProblemRaised", "problem"]

PROBLEM_MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "/problems/"


class ProblemKind(msgspec.Struct, frozen=True):
    """One entry: what it means, and what the caller can do."""

    name: str
    status: int
    title: str
    advice: str

    @property
    def type_uri(self) -> str:
        return TYPE_PREFIX + self.name


_KINDS = (
    ProblemKind("validation", 400, "The request is not valid", "mend what `errors` points to"),
    ProblemKind("unauthorised", 401, "No valid token", "send `Authorization: Bearer TOKEN`"),
    ProblemKind("forbidden", 403, "The token may not do this", "use a token with the role that the description names"),
    ProblemKind("not-found", 404, "There is no such thing", "check the id; content of other tenants is not found"),
    ProblemKind("unsupported-version", 404, "There is no such version", "call paths that begin with /v1"),
    ProblemKind("method-not-allowed", 405, "The path has no such method", "see `Allow`"),
    ProblemKind("too-slow", 408, "The body came too slowly", "send it without pauses"),
    ProblemKind("conflict", 409, "Something else went first", "read again, then decide"),
    ProblemKind("key-reused", 409, "The Idempotency-Key was used with another body", "use a new key for a new call"),
    ProblemKind("precondition-failed", 412, "It has changed since you read it", "read again, then decide"),
    ProblemKind("too-large", 413, "The request is too large", "send less at once"),
    ProblemKind("unsupported-media-type", 415, "The body is of another type", "send the content type described"),
    ProblemKind("rate-limited", 429, "Too many requests", "wait as long as `Retry-After` says"),
    ProblemKind("internal", 500, "A bug in Gristmill", "report it with the time; the log says more"),
    ProblemKind("not-ready", 503, "The service cannot do this now", "try again later"),
    ProblemKind("back-pressure", 503, "More is under way than can be held", "wait as long as `Retry-After` says"),
    ProblemKind("deadline-exceeded", 504, "It took longer than allowed", "allow more time, or publish instead"),
)

CATALOGUE: Mapping[str, ProblemKind] = MappingProxyType({kind.name: kind for kind in _KINDS})
"""Every kind by its name."""


class Fault(msgspec.Struct, frozen=True):
    """One thing that is wrong with a request: a JSON Pointer into the body, or the name of a parameter."""

    pointer: str
    message: str


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """A problem document."""

    type: str
    title: str
    status: int
    detail: str
    instance: str = ""
    errors: tuple[Fault, ...] = ()


class ProblemRaised(Exception):
    """Ends a call with a problem."""

    def __init__(self, kind: ProblemKind, document: Problem, headers: Mapping[str, str]) -> None:
        super().__init__(document.detail)
        self.kind = kind
        self.document = document
        self.headers = dict(headers)

    def __reduce__(self) -> tuple[Any, ...]:
        return ProblemRaised, (self.kind, self.document, self.headers)


def problem(
    name: str, detail: str = "", *, errors: Sequence[Fault] = (), headers: Mapping[str, str] | None = None
) -> ProblemRaised:
    """Return a problem of the catalogue, ready to be raised; what to do is told with it."""
    kind = CATALOGUE[name]
    text = f"{detail}: {kind.advice}" if detail else kind.advice
    document = Problem(kind.type_uri, kind.title, kind.status, text, errors=tuple(errors))
    return ProblemRaised(kind, document, headers or {})
