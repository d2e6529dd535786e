"""Decides what becomes of a record that several plans were called for.

Each plan has an outcome of its own, which stays with the record. A further try calls only the plans whose outcome is
not final.

    done              the plan has taken it
    not_applicable    there is no such plan here, or it has no run of this content
    rejected          the plan is at a place from which the record cannot move it
    failed            none of these: tried again
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

__all__ = ["FINAL", "Ended", "Jumped", "TryAgain", "decide_fan_out", "plans_left"]

Jumped = Literal["done", "not_applicable", "rejected"]
"""What a plan may answer."""

FINAL: frozenset[str] = frozenset({"done", "not_applicable", "rejected"})
FAILED = "failed"


class Ended(msgspec.Struct, frozen=True):
    """Every plan has a final outcome."""

    progress: dict[str, str]


class TryAgain(msgspec.Struct, frozen=True):
    """Some plan failed.

    Attributes:
        errors: plan key -> text of its error.
    """

    progress: dict[str, str]
    errors: dict[str, str]

    @property
    def reason(self) -> str:
        """Say which plans failed, and why."""
        return "; ".join(f"{plan}: {text}" for plan, text in self.errors.items())


def plans_left(plans: Sequence[str], progress: Mapping[str, str]) -> list[str]:
    """Return the plans that are still to be called, in their order."""
    return [plan for plan in plans if progress.get(plan) not in FINAL]


def decide_fan_out(progress: Mapping[str, str], answers: Mapping[str, Jumped | Exception]) -> Ended | TryAgain:
    """Return what becomes of the record after this try.

    Args:
        progress: outcomes of earlier tries.
        answers: what the plans that were called now answered or raised.
    """
    errors = {plan: _tell(answer) for plan, answer in answers.items() if isinstance(answer, Exception)}
    now = {plan: FAILED if isinstance(answer, Exception) else answer for plan, answer in answers.items()}
    whole = dict(progress) | now
    return TryAgain(whole, errors) if errors else Ended(whole)


def _tell(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
