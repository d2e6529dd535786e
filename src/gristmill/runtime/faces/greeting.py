"""What a person at the terminal is told when the API answers, and nobody else: it names tokens, so no log holds it."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Greet", "greet"]

Greet = Callable[[str, str | None], None]
"""Takes the address, and the first token where one was made."""


def greet(url: str, token: str | None) -> None:
    """Print both."""
    print(f"gristmill: serving on {url}", flush=True)
    if token is not None:
        print(f"gristmill: admin token, shown this once: {token}", flush=True)
