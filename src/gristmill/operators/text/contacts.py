"""Ways to reach someone that a text contains: links, phone numbers, mail addresses, handles, wallets.

Precision goes before recall: view counts, dates and scores are full of digits, so a phone number needs a country code,
the shape of a national number, or a word such as "whatsapp" before it.
"""

from __future__ import annotations

import re

import msgspec

from gristmill.operators.text.links import Link, find_links, mend_brackets
from gristmill.plans.results import transient

__all__ = ["CONTACTS_MAX", "Contacts", "find_contacts"]

CONTACTS_MAX = 32
"""Kept per kind and text."""

_MAIL = re.compile(
    r"(?<![\w.+-])([\w.+-]{1,64})(?:@| ?[\[(](?:at|@)[\])] ?"
    r"| at (?=(?:gmail|yahoo|hotmail|outlook|icloud|proton\w{0,5}|mail) dot ))"
    r"((?:[\w-]{1,63}(?:\.| dot | ?[\[(](?:dot|\.)[\])] ?)){1,4})([a-z]{2,12})(?![\w-])",
    re.IGNORECASE,
)
_INTERNATIONAL = re.compile(r"(?<![\w+])(?:\+|00)[1-9]\d{0,2}(?:[ .()-]{0,2}\d{1,4}){2,6}(?!\d)")
_NATIONAL = re.compile(r"(?<![\w.,+-])(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w.,]?\d)")
_ANNOUNCED = re.compile(
    r"(?:whats ?app|call|text|phone|tel|mobile|viber|signal|sms)\b(?: (?:me|us|at|on|now|number))?[ :.#-]{0,3}"
    r"(\(?\d(?:[ .()-]{0,2}\d){6,14})(?!\d)",
    re.IGNORECASE,
)
_AT_HANDLE = re.compile(r"(?<![\w@/.+-])@ ?([^\W\d_][\w.]{1,29}|_[\w.]{2,29})")
_NAMED_HANDLE = re.compile(
    r"\b(?:ig|insta|instagram|snap|snapchat|twitter|tiktok|telegram|tg|whatsapp|wechat|kik|discord|twitch|onlyfans|fb"
    r"|facebook|skype|line|vk|youtube|yt)(?: (?:name|id|username|handle|user))?(?: is|[.:=]| ?-)? ?[:=@.]? ?"
    r"(?=[\w.]{0,29}[\d_])([a-z_][\w.]{2,29})",
    re.IGNORECASE,
)
_WALLET = re.compile(
    r"(?<!\w)(?:bc1[a-z0-9]{25,60}|[13][1-9A-HJ-NP-Za-km-z]{25,34}|0x[0-9a-fA-F]{40}|T[1-9A-HJ-NP-Za-km-z]{33})(?!\w)"
)
_DIGIT = re.compile(r"\d")
_SPACED_DOT = re.compile(r" ?[\[(]?(?:\bdot\b|\.)[\])]? ?", re.IGNORECASE)


@transient
class Contacts(msgspec.Struct, frozen=True):
    """What a text offers to reach someone by, each kind in order of appearance and without repeats (links repeat).

    Attributes:
        word_count: words that are not part of a link or mail address.
        outside: the text with blanks for links and mail addresses, or None where it has neither.
    """

    links: tuple[Link, ...] = ()
    phones: tuple[str, ...] = ()
    mails: tuple[str, ...] = ()
    handles: tuple[str, ...] = ()
    wallets: tuple[str, ...] = ()
    word_count: int = 0
    outside: str | None = None


def find_contacts(text: str) -> Contacts:
    """Return the contacts in a clean text (`Normalised.text`)."""
    mails, rest = _take_mails(text)
    links, rest = find_links(mend_brackets(rest))
    handles = _unique(_AT_HANDLE.findall(rest)) if "@" in rest else ()
    has_digit = _DIGIT.search(rest) is not None
    # A named handle holds a digit or a low line: without one, "call me on insta" is only talk.
    named = _unique(_NAMED_HANDLE.findall(rest)) if has_digit or "_" in rest else ()
    return Contacts(
        links=links,
        phones=_find_phones(rest) if has_digit else (),
        mails=mails,
        handles=_unique([*handles, *named]),
        wallets=_unique(_WALLET.findall(rest)) if has_digit else (),
        word_count=len(rest.split()),
        outside=rest if links or mails else None,
    )


def _take_mails(text: str) -> tuple[tuple[str, ...], str]:
    if "@" not in text and " at " not in text.casefold() and "at)" not in text and "at]" not in text:
        return (), text
    mails = []
    for found in _MAIL.finditer(text):
        if (
            "://" not in text[max(0, found.start() - 200) : found.start()].rpartition(" ")[2]
        ):  # else it is `user:password@host` of a link
            name, hosts, top = found.groups()
            mails.append(f"{name}@{_SPACED_DOT.sub('.', hosts)}{top}".lower())
    return _unique(mails), _MAIL.sub(" ", text) if mails else text


def _find_phones(rest: str) -> tuple[str, ...]:
    found = [match.group() for match in _INTERNATIONAL.finditer(rest)]
    rest = _INTERNATIONAL.sub(" ", rest)
    found += [match.group() for match in _NATIONAL.finditer(rest)]
    found += [match.group(1) for match in _ANNOUNCED.finditer(rest)]
    digits = ["".join(filter(str.isdecimal, number)) for number in found]
    return _unique([number for number in digits if 7 <= len(number) <= 15])


def _unique(values: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))[:CONTACTS_MAX]
