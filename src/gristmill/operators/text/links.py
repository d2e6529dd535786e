"""Links in a text, written plainly or hidden from filters.

Four forms are found: `https://host/path` and `www.host`; a bare `host.tld/path`; a broken domain such as `host . com`,
`host[.]com`, `host dot com` or `you[tube].com`; and the tail of a video address, `watch?v=ID`. Bare domains need a top
level from the lists below, because "Great.this is it" is a missing space and no domain.

All patterns have bounded repeats and one way to match, so their time grows linearly with the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Set
from itertools import islice

import msgspec

__all__ = ["LINKS_MAX", "Link", "find_links", "is_on_host", "is_referral", "link_key", "mend_brackets"]

LINKS_MAX = 64
"""Links kept per text; spam repeats itself, and 64 tell as much as 6,400."""

URL_CHARS_MAX = 2_048

# Top levels that no sentence starts with after a missing space: accepted bare, without scheme or path.
_PLAIN_TOPS = frozenset(
    "com net org info biz io edu gov xyz online site website club shop store app dev tv gg ly fm cc gl page link click"
    " blog icu vip win bet casino loan work cloud tech digital agency"
    " ru de fr uk br pl cn jp kr nl eu ua cz hu ro gr tr ir vn th tw hk mx ar cl pe ve ca au nz za ng ke eg ma sa"
    " se dk fi sk bg lt lv ee rs kz by ge pk bd lk ph".split()
)
# Top levels that are words: a path must follow.
_WORDY_TOPS = frozenset(
    "co me to it is in us so be at my no as do es la pt ch ai sg id top live best pro one team".split()
)

_END = r"(?![\w@-]|\.[^\W\d_])(/[^\s<>\"]{0,2000})?"
_URL = re.compile(r"(?<![^\W_])((?:https?|hxxps?|ftp)://|www\d{0,2}\.)([^\s<>\"]{3,2000})", re.IGNORECASE)
_BARE = re.compile(r"(?<![\w.@/-])((?:[^\W_][\w-]{0,62}\.){1,4})([a-z]{2,8})" + _END, re.IGNORECASE)
_BROKEN = re.compile(
    r"(?<![\w@-])([^\W_][\w-]{1,62})"
    r"(?: ?[\[({](?:\.|dot)[\])}] ?(com|net|org|info|ru|io|co|tv|gg|me)"
    r"| \. ?(com|net|org|info|ru)"
    r"|\. (com|org)"
    r"| dot (com|net|org|info|ru)(?! (?:bubble|boom|crash|era|years?|compan)))" + _END,
    re.IGNORECASE,
)
_WATCH = re.compile(r"(?<![^\s(])/?watch\?v=([\w-]{6,16})(?:&[^\s<>\"]{0,500})?", re.IGNORECASE)
_BRACKETS = re.compile(r"(?<![^\W_])([^\W_]{2,20})[\[{(]([^\W_]{2,20})[\]})]")
_HOST = re.compile(r"(?:[^\W_](?:[\w-]{0,62}[^\W_])?\.){1,8}[^\W\d_][\w-]{1,30}")
_REFERRAL = re.compile(
    r"[?&#/](?:ref|refer|referral|aff|affiliate|affiliateid|rb|invite|partner|partners|campid|pub|rrid|r)(?:=|/\w|id=)",
    re.IGNORECASE,
)
_Reader = Callable[[re.Match[str]], "Link | None"]
_TRAILING = ".,;:!?'\"*)]}>»”…"


class Link(msgspec.Struct, frozen=True):
    """One link.

    Attributes:
        url: as found, at most 2,048 characters.
        host: lower case, without `www.` and port.
        path: from the first slash, without query and fragment.
        query: query and fragment, with their mark.
        obfuscated: it was written so that filters miss it.
    """

    url: str
    host: str
    path: str = ""
    query: str = ""
    obfuscated: bool = False


def find_links(text: str) -> tuple[tuple[Link, ...], str]:
    """Return the links of a clean text, at most LINKS_MAX, and the text with blanks in their place."""
    links: list[Link] = []
    for pattern, read in _READERS:
        if not _may_match(pattern, text):
            continue
        spans: list[tuple[int, int]] = []
        for found, link in islice(_read_all(pattern, read, text), LINKS_MAX):
            links.append(link)
            spans.append(found.span())
        text = _blank(text, spans)
    return tuple(links[:LINKS_MAX]), text


def link_key(link: Link) -> str:
    """Return host and path, by which repeated links are counted; a video keeps its id, everything else its path."""
    path = link.path.rstrip("/").lower()
    video = re.search(r"[?&]v=([\w-]{6,16})", link.query) if path == "/watch" else None
    return f"{link.host}{path}" + (f"?v={video.group(1)}" if video else "")


def is_on_host(link: Link, hosts: Set[str]) -> bool:
    """Say whether the link's host is one of `hosts` or below one of them."""
    host = link.host
    while host:
        if host in hosts:
            return True
        host = host.partition(".")[2]
    return False


def is_referral(link: Link) -> bool:
    """Say whether the link names who sent the visitor, which is what pays its author."""
    return _REFERRAL.search(link.path + link.query) is not None


def mend_brackets(text: str) -> str:
    """Join words that brackets cut in two: `you[tube]` becomes `youtube`."""
    if "[" in text or "{" in text or "(" in text:
        return _BRACKETS.sub(r"\1\2", text)
    return text


def _may_match(pattern: re.Pattern[str], text: str) -> bool:
    if pattern is _WATCH:
        return "?v=" in text
    if pattern is _BROKEN:
        return " dot " in text.casefold() or ". " in text or " ." in text or "[" in text or "(" in text or "{" in text
    return "." in text or "://" in text


def _read_all(pattern: re.Pattern[str], read: _Reader, text: str) -> Iterator[tuple[re.Match[str], Link]]:
    for found in pattern.finditer(text):
        link = read(found)
        if link is not None:
            yield found, link


def _read_url(found: re.Match[str]) -> Link | None:
    scheme, rest = found.groups()
    rest = rest.rstrip(_TRAILING)
    address = rest.partition("@")[2] if "@" in rest.partition("/")[0] else rest
    return _split(found.group().rstrip(_TRAILING), address, obfuscated=scheme.lower().startswith("hxxp"))


def _read_bare(found: re.Match[str]) -> Link | None:
    labels, top, path = found.groups()
    folded = top.casefold()
    if folded not in _PLAIN_TOPS and not (path and len(path) > 1 and folded in _WORDY_TOPS):
        return None
    return _split(found.group().rstrip(_TRAILING), f"{labels}{top}{path or ''}".rstrip(_TRAILING))


def _read_broken(found: re.Match[str]) -> Link | None:
    name, *tops, path = found.groups()
    top = next(filter(None, tops))
    return _split(found.group(), f"{name}.{top}{path or ''}", obfuscated=True)


def _read_watch(found: re.Match[str]) -> Link | None:
    return Link(found.group(), "youtube.com", "/watch", f"?v={found.group(1)}", obfuscated=True)


_READERS = ((_URL, _read_url), (_BARE, _read_bare), (_BROKEN, _read_broken), (_WATCH, _read_watch))


def _split(url: str, address: str, *, obfuscated: bool = False) -> Link | None:
    host_end = next((index for index, char in enumerate(address[:300]) if char in "/?#:"), len(address))
    host = address[:host_end].lower()
    if _HOST.fullmatch(host) is None:
        return None
    tail = address[host_end:]
    if tail.startswith(":"):
        tail = tail[1:].lstrip("0123456789")
    query_start = next((index for index, char in enumerate(tail) if char in "?#"), len(tail))
    return Link(
        url=url[:URL_CHARS_MAX],
        host=re.sub(r"^www\d{0,2}\.", "", host),
        path=tail[:query_start],
        query=tail[query_start:],
        obfuscated=obfuscated,
    )


def _blank(text: str, spans: list[tuple[int, int]]) -> str:
    if not spans:
        return text
    pieces: list[str] = []
    start = 0
    for begin, end in spans:
        pieces += (text[start:begin], " ")
        start = end
    pieces.append(text[start:])
    return "".join(pieces)
