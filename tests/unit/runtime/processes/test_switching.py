"""How soon a thread gets the interpreter."""

from __future__ import annotations

import os
import sys
import threading

import pytest

from gristmill.runtime.processes.switching import SWITCH_S, give_way, switch_often


def test_threads_share_the_interpreter_in_short_slices() -> None:
    usual = sys.getswitchinterval()
    try:
        switch_often()
        assert abs(sys.getswitchinterval() - SWITCH_S) < 1e-6
    finally:
        sys.setswitchinterval(usual)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere niceness is that of the process")
def test_only_what_is_started_from_now_on_gives_way() -> None:
    nice: dict[str, int] = {}
    may_look, has_given_way = threading.Event(), threading.Event()

    def look(name: str) -> None:
        nice[name] = os.nice(0)

    def give() -> None:
        writer.start()
        give_way(3)
        later = threading.Thread(target=look, args=("later",))
        later.start()
        later.join()
        look("loop")
        has_given_way.set()

    def write() -> None:
        assert may_look.wait(10)
        look("writer")

    writer = threading.Thread(target=write)
    loop = threading.Thread(target=give)
    loop.start()
    assert has_given_way.wait(10)
    may_look.set()
    for thread in (loop, writer):
        thread.join()
    usual = os.nice(0)
    assert nice == {"writer": usual, "loop": usual + 3, "later": usual + 3}
