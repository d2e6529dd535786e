"""Starts a child process that dies with its main, and notices its death at once."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

__all__ = ["Launched", "bind_to_main", "launch"]

ROLE_MODULE = "gristmill.runtime.processes.role"
STOP_SIGNALS = {signal.SIGINT, signal.SIGTERM}
PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15


class Launched:
    """A running child and our end of its channel."""

    def __init__(self, process: subprocess.Popen[bytes], end: socket.socket) -> None:
        self.process = process
        self.end = end

    async def wait_dead(self) -> int:
        """Return the exit code once the process has ended; negative for a signal."""
        if not hasattr(os, "pidfd_open"):
            return await asyncio.to_thread(self.process.wait)
        loop = asyncio.get_running_loop()
        handle = os.pidfd_open(self.process.pid)
        ended = asyncio.Event()
        loop.add_reader(handle, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(handle)
            os.close(handle)
        return self.process.wait()

    def kill(self) -> None:
        """End it at once and see it gone; harmless when it has ended."""
        self.process.kill()
        self.process.wait()


def launch(role: str, *, log_file: Path | None = None) -> Launched:
    """Start a child of a role, with one socket of a pair as its channel.

    Args:
        log_file: where its output goes, what it says when it crashes included; our standard error by default.
    """
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-P", "-m", ROLE_MODULE, role, str(theirs.fileno()), str(os.getpid())]
    # Blocked until the child ignores them itself: a Ctrl-C reaches every process of the terminal, and only main reacts.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        with ExitStack() as stack:
            told = stack.enter_context(log_file.open("ab")) if log_file is not None else sys.stderr.buffer
            process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=told, stderr=told
            )
    except BaseException:
        ours.close()
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        theirs.close()
    return Launched(process, ours)


def bind_to_main(role: str, main_pid: int) -> None:
    """Make this process a child: it ignores the signals that only main reacts to, and dies with main.

    Exits when main is gone already.
    """
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    if sys.platform == "linux":
        import ctypes

        kernel = ctypes.CDLL(None, use_errno=True)
        kernel.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        kernel.prctl(PR_SET_NAME, f"gm-{role}".encode())
    if os.getppid() != main_pid:
        sys.exit(1)
