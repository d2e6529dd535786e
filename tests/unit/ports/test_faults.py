"""Fault points do nothing until armed, and then exactly what they were told."""

from __future__ import annotations

import os
import subprocess
import sys
from signal import SIGKILL

import pytest

from gristmill.domain.errors import ConfigError, Unavailable
from gristmill.ports.faults import fault, parse_faults
from gristmill.testing.faults import armed, fault_environment


def test_an_unarmed_point_is_passed() -> None:
    fault("commit.before")


def test_a_point_raises_after_the_passages_it_lets_by() -> None:
    with armed("commit.before:raise:after=2"):
        fault("commit.before")
        fault("commit.after")
        fault("commit.before")
        with pytest.raises(Unavailable):
            fault("commit.before")
    fault("commit.before")


def test_several_points_are_armed_at_once() -> None:
    plans = parse_faults("append.before:delay=5, commit.after:kill:after=3")
    assert {name: (plan.action, plan.delay_ms, plan.passages_left) for name, plan in plans.items()} == {
        "append.before": ("delay", 5, 0),
        "commit.after": ("kill", 0, 3),
    }


def test_a_delay_lets_the_caller_go_on() -> None:
    with armed("commit.before:delay=1"):
        fault("commit.before")


@pytest.mark.parametrize("text", ["commit.before", "commit.before:explode", "commit.before:delay=soon"])
def test_an_unknown_action_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="name:kill"):
        parse_faults(text)


def test_an_unknown_point_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match=r"commit\.before"):
        parse_faults("comit.before:kill")


def test_a_killed_process_is_gone_at_once() -> None:
    code = "from gristmill.ports.faults import fault; fault('append.before'); print('alive')"
    environment = fault_environment("append.before:kill", environment=os.environ)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (-SIGKILL, b"")
