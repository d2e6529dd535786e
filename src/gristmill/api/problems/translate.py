"""Turns whatever ends a call early into a problem."""

from __future__ import annotations

import structlog
from litestar.exceptions import HTTPException

from gristmill.api.problems.catalogue import Fault, ProblemRaised, problem
from gristmill.domain.errors import DataError, GristmillError, StaleRead, Unavailable, UsageError

__all__ = ["translate"]

RETRY_AFTER_S = "1"

BY_STATUS = {
    400: "validation",
    401: "unauthorised",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    413: "too-large",
    415: "unsupported-media-type",
    429: "rate-limited",
}
"""What the framework answers by itself."""

_log = structlog.get_logger()


def translate(error: Exception, *, path: str) -> ProblemRaised:
    """Return the problem that an exception means; one that nobody expected is logged."""
    match error:
        case ProblemRaised():
            return error
        case StaleRead():
            return problem("conflict", str(error))
        case Unavailable():
            return problem("not-ready", str(error), headers={"Retry-After": RETRY_AFTER_S})
        case UsageError() | DataError():
            return problem("validation", error.thing, errors=[Fault("", str(error))])
        case HTTPException(status_code=status) if status in BY_STATUS:
            if status == 404 and _asks_for_another_version(path):
                return problem("unsupported-version", path)
            return problem(BY_STATUS[status], headers=error.headers)
        case GristmillError():
            _log.error("call failed", path=path, error=str(error), exc_info=error)
        case _:
            _log.error("call failed", path=path, error=repr(error), exc_info=error)
    return problem("internal")


def _asks_for_another_version(path: str) -> bool:
    first = path.lstrip("/").partition("/")[0]
    return first[:1] == "v" and first[1:].isdecimal() and first != "v1"
