"""How soon a thread gets the interpreter."""

from __future__ import annotations

import sys

from gristmill.runtime.processes.switching import SWITCH_S, switch_often


def test_threads_share_the_interpreter_in_short_slices() -> None:
    usual = sys.getswitchinterval()
    try:
        switch_often()
        assert abs(sys.getswitchinterval() - SWITCH_S) < 1e-6
    finally:
        sys.setswitchinterval(usual)
