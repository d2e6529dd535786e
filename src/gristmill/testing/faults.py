"""Arms fault points from tests: in this process for a block, or in a child through its environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from gristmill.ports.faults import FAULT_POINTS, FAULT_VARIABLE, arm, parse_faults

__all__ = ["FAULT_POINTS", "armed", "fault_environment"]


@contextmanager
def armed(plan: str) -> Iterator[None]:
    """Arm fault points of this process for a block, for example `commit.before:raise:after=2`.

    Raises:
        ConfigError: unknown fault point or action.
    """
    arm(parse_faults(plan))
    try:
        yield
    finally:
        arm(None)


def fault_environment(plan: str, *, environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for a child process in which fault points are armed.

    Raises:
        ConfigError: unknown fault point or action; found here rather than in the child.
    """
    parse_faults(plan)
    return {**environment, FAULT_VARIABLE: plan}
