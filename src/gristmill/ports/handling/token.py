"""Says to work in any thread that it is to end."""

from __future__ import annotations

import threading

from gristmill.domain.errors import StaleRead

__all__ = ["CancelToken"]


class CancelToken:
    """Says that work is to end now: its lease is lost, or the process stops. May be asked from any thread.

    Coroutines need not ask, they are cancelled; threads and calls into other libraries do.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._reason = ""

    @property
    def is_cancelled(self) -> bool:
        """Whether the work is to end."""
        return self._event.is_set()

    @property
    def reason(self) -> str:
        """Why, empty while it may go on."""
        return self._reason

    def check(self) -> None:
        """Return while the work may go on.

        Raises:
            StaleRead: it may not; write nothing more.
        """
        if self._event.is_set():
            raise StaleRead("work on a record was cancelled", value=self._reason, advice="write nothing and return")

    def wait(self, timeout_s: float) -> bool:
        """Block the calling thread for a time, less if the work is to end; return whether it is. Not for coroutines."""
        return self._event.wait(timeout_s)

    def cancel(self, reason: str) -> None:
        """End the work; the first reason stays."""
        if not self._event.is_set():
            self._reason = reason
            self._event.set()
