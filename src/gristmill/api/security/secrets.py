"""Makes tokens and takes them apart: `gm_ID_SECRET`. The id is public; of the secret only a hash is stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets

import msgspec

from gristmill.domain.front.access import Role, StoredToken

__all__ = ["NewToken", "is_secret", "make_token", "split_token"]

PREFIX = "gm"
ID_BYTES = 8
SECRET_BYTES = 32
TOKEN_CHARS_MAX = 128


class NewToken(msgspec.Struct, frozen=True):
    """A token with its secret, shown once and never again."""

    text: str
    stored: StoredToken


def make_token(name: str, *, role: Role, tenant: str, now_ms: int) -> NewToken:
    """Return a new token."""
    token_id, secret = secrets.token_hex(ID_BYTES), secrets.token_hex(SECRET_BYTES)
    stored = StoredToken(token_id, _hash(secret), name, role, tenant, now_ms)
    return NewToken(f"{PREFIX}_{token_id}_{secret}", stored)


def split_token(text: str) -> tuple[str, str] | None:
    """Return id and secret of what has the form of a token."""
    parts = text.split("_")
    if len(text) > TOKEN_CHARS_MAX or len(parts) != 3 or parts[0] != PREFIX or not text.isascii():
        return None
    return parts[1], parts[2]


def is_secret(secret: str, stored: StoredToken) -> bool:
    """Compare in a time that does not depend on how much of the secret is right."""
    return hmac.compare_digest(_hash(secret), stored.secret_hash)


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
