"""Signatures of Standard Webhooks 1.0: `v1`, HMAC-SHA256 over `id.timestamp.body`.

Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence

__all__ = ["SECRET_BYTES", "SECRET_PREFIX", "compute_headers", "sign", "write_secret"]

SECRET_PREFIX = "whsec_"
SECRET_BYTES = 32
"""The specification asks for 24 to 64."""


def write_secret(key: bytes) -> str:
    """Return a key as text that libraries for receivers take."""
    return SECRET_PREFIX + base64.b64encode(key).decode()


def sign(secret: str, *, request_id: str, at_s: int, body: bytes) -> str:
    """Return one signature."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    digest = hmac.new(key, f"{request_id}.{at_s}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def compute_headers(secrets: Sequence[str], *, request_id: str, at_s: int, body: bytes) -> dict[str, str]:
    """Return the headers of a request, signed with each secret: receivers take any of them."""
    signatures = [sign(secret, request_id=request_id, at_s=at_s, body=body) for secret in secrets]
    return {
        "webhook-id": request_id,
        "webhook-timestamp": str(at_s),
        "webhook-signature": " ".join(signatures),
    }
