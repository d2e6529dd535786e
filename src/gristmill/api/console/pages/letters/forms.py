"""What all pages about dead letters share: where they are, and what can be done with a letter."""

from __future__ import annotations

from functools import partial
from typing import Literal

from gristmill.api.console.page import Page
from gristmill.api.problems import Fault, problem

__all__ = ["HOME", "REASON_CHARS_MAX", "SECTION", "Kind", "kind_of", "letter_page", "read_reason"]

HOME = "/console/dead-letters"
SECTION = "consoleDeadLetters"
REASON_CHARS_MAX = 500

Kind = Literal["requeued", "dropped"]
KINDS: dict[str, Kind] = {"requeue": "requeued", "drop": "dropped"}

letter_page = partial(Page, title="Dead letters", section=SECTION)


def kind_of(act: str) -> Kind:
    """Return what becomes of letters by an act.

    Raises:
        ProblemRaised: `not-found`: nothing here is called so.
    """
    kind = KINDS.get(act)
    if kind is None:
        raise problem("not-found", "neither requeue nor drop")
    return kind


def read_reason(form: dict[str, str], *, is_needed: bool = False) -> str:
    """Return why somebody does something.

    Raises:
        ProblemRaised: `validation`: it is needed and missing, or too long.
    """
    reason = form.get("reason", "").strip()
    if len(reason) > REASON_CHARS_MAX:
        raise problem("validation", errors=[Fault("reason", f"has more than {REASON_CHARS_MAX} characters")])
    if is_needed and not reason:
        raise problem("validation", errors=[Fault("reason", "is needed to drop a record for good")])
    return reason
