"""What a phrase is, and the vocabulary that patterns share."""

from __future__ import annotations

import re

import msgspec

__all__ = ["Phrase", "make_phrase"]


class Phrase(msgspec.Struct, frozen=True):
    """One move: signal name, what it is for a person, substrings that must occur, pattern."""

    signal: str
    meaning: str
    triggers: tuple[str, ...]
    pattern: re.Pattern[str]


def make_phrase(signal: str, meaning: str, triggers: str, *alternatives: str) -> Phrase:
    """Compile a phrase; `<name>` in a pattern stands for a part of the vocabulary, `|` parts the triggers."""
    joined = _PART.sub(lambda part: _PARTS[part.group(1)], "|".join(alternatives))
    return Phrase(signal, meaning, tuple(triggers.split("|")), re.compile(rf"\b(?:{joined})"))


_PART = re.compile(r"<([a-z]+)>")

# Spelled with the slips that people make on purpose or in haste: suscribe, subcribe, chanel, vidios, plzz.
_PARTS = {
    "sub": r"(?:s[ou][a-z]{0,3}cri[a-z]{0,2}b(?:e|es|)\b|subs?\b|sub?scri?be?\b)",
    "please": r"(?:pl[eaisz]{1,8}|pl+[sz]{1,4}|pls+|plis+|please+)",
    "own": r"(?:my|our|mah)",
    "channel": r"(?:ch{1,2}a?n{1,2}[ea]l{1,2}s?)",
    "place": (
        r"(?:ch{1,2}a?n{1,2}[ea]l{1,2}s?|pages?|profile|sites?|web ?sites?|blog|vlogs?|account|playlists?|streams?|"
        r"instagram|insta|ig|facebook|fb|twitter|twitch|soundcloud|snapchat|snap|tiktok|onlyfans|telegram|discord|"
        r"bio|store|shop|server|group|youtube|yt)"
    ),
    "work": (
        r"(?:vid+[ie]*o?s?|vids?|videos?|clips?|covers?|songs?|singles?|music|tracks?|mix ?tapes?|mix(?:es)?|"
        r"remix(?:es)?|raps?|rapping|beats?|albums?|ep|stuff|content|books?|apps?|games?|projects?|parod(?:y|ies)|"
        r"animations?|tutorials?|art|photos?|pictures?|stories|story|version|reactions?|podcast|uploads?)"
    ),
    "look": (
        r"(?:che(?:ck|k)(?:ed|ing|s)?|checkout|chack(?:ing)?|see|visit|watch|look|view|listen|hear|read|peep|enjoy|"
        r"like|share|support|follow|join|rate|review|spread|give|go|come|find|discover|stream|buy|download|"
        r"subscribe|sub|open)"
    ),
    "between": (
        r"(?:(?:out|at|to|in|on|into|over|onto|for|of|by|through|and|the|one|all|some|any|please|pls|plz|here|check|"
        r"see|watch|visit|listen|look|new|both|video|videos|vids|song|it|with|also) ){0,4}"
    ),
    "crowd": (
        r"(?:guys?|every ?(?:one|body)|people|peoples|yall|y all|all|there|friends?|fam|folks|dudes?|ladies|world|"
        r"fans|youtube(?:rs)?|peeps|viewers|anyone)"
    ),
    "network": (
        r"(?:twitter|instagr\w{0,4}|insta|ig|facebook|fb|snap(?:chat)?|twitch|tiktok|tumblr|soundcloud|spotify|"
        r"itunes|youtube|yt|discord|telegram|whats ?app|vine|kik|onlyfans|ebay|amazon|google)"
    ),
}
