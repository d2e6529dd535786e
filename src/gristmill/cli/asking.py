"""Asks a running server over HTTP, for commands that look into its memory."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any

import msgspec

from gristmill.domain.errors import Unavailable, UsageError

__all__ = ["ask_json"]

TIMEOUT_S = 30


def ask_json(url: str, *, token: str, body: Any = None) -> Any:
    """Return an answer; a body is posted.

    Raises:
        UsageError: the server refuses the call.
        Unavailable: it cannot be reached, or not answer now.
    """
    if not url.startswith(("http://", "https://")):
        raise UsageError("address of a server", value=url, advice="it begins with http:// or https://")
    data = None if body is None else msgspec.json.encode(body)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=TIMEOUT_S) as answer:
            return msgspec.json.decode(answer.read())
    except urllib.error.HTTPError as error:
        told = error.read()
        kind = Unavailable if error.code in (429, 503) else UsageError
        raise kind(url, value=error.code, advice=_detail(told)) from None
    except OSError as error:
        raise Unavailable(url, advice=str(getattr(error, "reason", error))) from None


def _detail(told: bytes) -> str:
    try:
        return str(msgspec.json.decode(told)["detail"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return told[:200].decode("utf-8", "replace")
