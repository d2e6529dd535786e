"""Reads an http(s) address into the parts that a connection needs, and refuses what could mean two things.

Every hop is parsed once, here, and the parts go to the socket, TLS and the request line as they are: there is no second
parser that could understand the same text differently. Hence the narrow grammar: no user names, no odd
spellings of IP addresses, no control characters, no backslashes.
"""

from __future__ import annotations

import ipaddress
import re

import msgspec

__all__ = ["Target", "UrlRefused", "parse_url"]

URL_CHARS_MAX = 4_096
"""Longer than browsers and content networks use."""

DEFAULT_PORTS = {"http": 80, "https": 443}

_URL = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?:#.*)?", re.I)
_AUTHORITY = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[^\[\]:@]+)(?::(?P<port>[0-9]{1,5}))?", re.I)
_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")
_TO_ESCAPE = re.compile(r"[^\x21-\x7e]|[\"<>^`{|}]")


class UrlRefused(Exception):
    """The text is no address that may be fetched; the message says why, for a person."""


class Target(msgspec.Struct, frozen=True):
    """One hop.

    Attributes:
        host: lower-case ASCII name or address, IPv6 without brackets.
        path: what stands in the request line; starts with `/`.
        is_address: `host` is an IP address, so there is nothing to resolve.
    """

    scheme: str
    host: str
    port: int
    path: str
    is_address: bool

    @property
    def authority(self) -> str:
        """Return what stands in the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """Return the whole address in its one spelling."""
        return f"{self.scheme}://{self.authority}{self.path}"


def parse_url(text: str) -> Target:
    """Return the parts of an address.

    Raises:
        UrlRefused: it is none, or has a part that is not allowed.
    """
    if len(text) > URL_CHARS_MAX:
        raise UrlRefused(f"longer than {URL_CHARS_MAX} characters")
    if _UNSAFE.search(text):
        raise UrlRefused("has blanks, control characters or backslashes")
    found = _URL.fullmatch(text)
    if found is None:
        raise UrlRefused("is no http or https address")
    if "@" in found["authority"]:
        raise UrlRefused("carries credentials")
    authority = _AUTHORITY.fullmatch(found["authority"])
    if authority is None:
        raise UrlRefused("has no sound host and port")
    scheme = found["scheme"].lower()
    port = int(authority["port"]) if authority["port"] else DEFAULT_PORTS[scheme]
    if not 1 <= port <= 65_535:
        raise UrlRefused("has a port out of range")
    host, is_address = _read_host(authority["host"])
    path = _escape((found["path"] or "/") + (found["query"] or ""))
    return Target(scheme, host, port, path, is_address)


def _read_host(text: str) -> tuple[str, bool]:
    if text.startswith("["):
        try:
            return str(ipaddress.IPv6Address(text[1:-1])), True
        except ValueError as error:
            raise UrlRefused("has a broken IPv6 address") from error
    host = _to_ascii(text).removesuffix(".")
    if not _NAME.fullmatch(host) or len(host) > 253:
        raise UrlRefused("has a host that is no name")
    if not _NUMERIC.fullmatch(host.rpartition(".")[2]):
        return host, False
    # Short, octal and hexadecimal spellings of IPv4 are understood by some systems and not by others.
    try:
        return str(ipaddress.IPv4Address(host)), True
    except ValueError as error:
        raise UrlRefused("has an odd spelling of an IPv4 address") from error


def _to_ascii(host: str) -> str:
    if host.isascii():
        return host.lower()
    try:
        # Also folds full-width digits and dots, which some systems read as an IP address.
        return host.encode("idna").decode("ascii").lower()
    except UnicodeError as error:
        raise UrlRefused("has a host that is no name") from error


def _escape(path: str) -> str:
    return _TO_ESCAPE.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "replace")), path)
