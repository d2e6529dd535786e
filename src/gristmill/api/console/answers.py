"""What goes back to the browser: pages, redirects, files and errors, with what keeps a browser from being misled."""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping
from types import MappingProxyType

from litestar import Response
from litestar.datastructures import Cookie

from gristmill.api.security import SESSION_COOKIE

__all__ = ["HOME", "LOGIN", "html", "is_local", "login_path", "redirect", "static"]

HOME = "/console"
LOGIN = "/console/login"
NEXT_CHARS_MAX = 2_000
AS_IT_IS = "".join(chr(code) for code in range(33, 127))
"""What stands in an address already: headers hold nothing else."""

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
SAFE: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
)
FRESH = "no-store"
FOR_GOOD = "public, max-age=31536000, immutable"
SESSION_S = 12 * 3_600
"""A shift and a half: a forgotten browser asks for the token again the next day."""


def html(text: str, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response[bytes]:
    """Return a page."""
    return Response(
        text.encode(),
        status_code=status,
        media_type="text/html",
        headers={**SAFE, "Cache-Control": FRESH, **(headers or {})},
    )


def static(content: bytes, media_type: str) -> Response[bytes]:
    """Return a file that never changes under its address."""
    return Response(content, media_type=media_type, headers={**SAFE, "Cache-Control": FOR_GOOD})


def redirect(url: str, *, is_partial: bool, session: str | None = None, is_secure: bool = False) -> Response[bytes]:
    """Send the browser elsewhere, and set or take its session.

    Args:
        is_partial: a script asked for a part of a page, so the whole page has to be told to go.
        session: the token that the browser keeps; empty to make it forget, None to leave it alone.
        is_secure: the browser came over TLS, so the session may go over nothing else.
    """
    cookies = [] if session is None else [_session(session, is_secure=is_secure)]
    place = urllib.parse.quote(url, safe=AS_IT_IS)
    where = {"HX-Redirect": place} if is_partial else {"Location": place}
    return Response(
        b"",
        status_code=204 if is_partial else 303,
        headers={**SAFE, "Cache-Control": FRESH, **where},
        cookies=cookies,
    )


def login_path(after: str) -> str:
    """Return the way to the login page that comes back to where somebody wanted to go."""
    return f"{LOGIN}?{urllib.parse.urlencode({'next': after})}" if is_local(after) and after != HOME else LOGIN


def is_local(path: str) -> bool:
    """Whether a path leads to a page of this console and nowhere else."""
    is_plain = len(path) <= NEXT_CHARS_MAX and "\\" not in path and path.isprintable()
    # A browser takes `..` away, escaped or not, and would go elsewhere.
    steps = urllib.parse.unquote(path.partition("?")[0]).split("/")
    return is_plain and ".." not in steps and (path == HOME or path.startswith((f"{HOME}/", f"{HOME}?")))


def _session(token: str, *, is_secure: bool) -> Cookie:
    return Cookie(
        key=SESSION_COOKIE,
        value=token,
        path="/",
        max_age=SESSION_S if token else 0,
        httponly=True,
        samesite="strict",
        secure=is_secure,
    )
