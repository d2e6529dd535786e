"""Named places where a test makes a process die, fail or wait at exactly that moment. Nothing happens otherwise.

`GRISTMILL_FAULT=engine.after_commit:kill:3` kills this process when it comes to that place for the third time;
`:raise` raises there, `:250` waits 250 ms there. Several are separated by commas. Read once, at import.
"""

from __future__ import annotations

import os
import signal
import threading

from gristmill.domain.errors import Unavailable

__all__ = ["fault"]


class _Fault:
    def __init__(self, what: str, after: int) -> None:
        self._what = what
        self._left = after

    def pass_by(self, name: str) -> None:
        self._left -= 1
        if self._left > 0:
            return
        if self._what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self._what == "raise":
            raise Unavailable("a test wants this to fail", value=name)
        else:
            threading.Event().wait(int(self._what) / 1_000)


def _read(text: str) -> dict[str, _Fault]:
    faults: dict[str, _Fault] = {}
    for entry in filter(None, text.split(",")):
        name, what, *after = entry.split(":")
        faults[name] = _Fault(what, int(after[0]) if after else 1)
    return faults


_faults = _read(os.environ.get("GRISTMILL_FAULT", ""))


def fault(name: str) -> None:
    """Come by the place of this name."""
    if _faults and name in _faults:
        _faults[name].pass_by(name)
