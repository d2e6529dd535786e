"""Lists of pictures and places that are known: by hash of the bytes, by perceptual hash, by address, by host.

One entry a line, as CSV; `#` starts a comment. What is not written takes its default.

    kind, value[, reason[, label]]

    sha256,9f86d081884c7d65...,reported by the hash exchange
    phash,a3f1...64 hex digits,scam picture of March         a copy may differ in 24 bits
    phash/31,a3f1...,scam picture of March                   ... in 31 bits
    host,pics.example,spreads malware                        also every host below it
    url,https://cdn.example/ad.png,advert,unwanted           without scheme, query and fragment

Looking up costs nothing for exact kinds; each perceptual hash costs 20 ns a picture.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from gristmill.domain.errors import ConfigError, UsageError
from gristmill.domain.item import check_label

__all__ = ["LISTED", "ListHit", "MatchList", "read_match_list"]

LISTED = "listed"
DISTANCE_DEFAULT = 24
"""Of 256 bits: far above a resized or compressed copy, far below the 96 of the nearest strangers measured."""

DISTANCE_MAX = 64
FAULTS_SHOWN_MAX = 5

_SHA256 = re.compile(r"[0-9a-f]{64}")
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
_SCHEME = re.compile(r"^[a-z]+://", re.I)
_PHASH_KIND = re.compile(r"phash(?:/(?P<distance>\d{1,3}))?")


class ListHit(msgspec.Struct, frozen=True):
    """An entry that matches; `what` says how (`sha256`, `phash at 6 bits`, `host`, `url`)."""

    label: str
    reason: str
    what: str


class MatchList:
    """The entries of one file or more. Read only."""

    def __init__(self) -> None:
        self._exact: dict[tuple[str, str], tuple[str, str]] = {}
        self._hashes: list[bytes] = []
        self._distances: list[int] = []
        self._told: list[tuple[str, str]] = []
        self._packed: NDArray[np.uint64] | None = None

    def __len__(self) -> int:
        return len(self._exact) + len(self._hashes)

    def add(self, kind: str, value: str, *, reason: str, label: str, distance: int = DISTANCE_DEFAULT) -> None:
        """Add an entry that was checked."""
        if kind == "phash":
            self._hashes.append(bytes.fromhex(value))
            self._distances.append(distance)
            self._told.append((label, reason))
            self._packed = None
        else:
            self._exact[(kind, value)] = (label, reason)

    def match_place(self, url: str) -> list[ListHit]:
        """Return the hits of an http(s) address."""
        place = _place_of(url)
        host = place.partition("/")[0].partition(":")[0]
        labels = host.split(".")
        wanted = [("url", place), *(("host", ".".join(labels[start:])) for start in range(len(labels)))]
        return self._look_up(wanted)

    def match_picture(self, sha256: str, perceptual: str) -> list[ListHit]:
        """Return the hits of a picture's hashes; of several near perceptual ones the nearest."""
        return [*self._look_up([("sha256", sha256)]), *self._match_near(perceptual)]

    def _look_up(self, wanted: Iterable[tuple[str, str]]) -> list[ListHit]:
        return [ListHit(*self._exact[key], key[0]) for key in wanted if key in self._exact]

    def _match_near(self, perceptual: str) -> list[ListHit]:
        if not self._hashes or not perceptual:
            return []
        if self._packed is None:
            self._packed = np.frombuffer(b"".join(self._hashes), np.uint64).reshape(-1, 4)
        one = np.frombuffer(bytes.fromhex(perceptual), np.uint64)
        differences = np.bitwise_count(self._packed ^ one).sum(axis=1, dtype=np.int64)
        near = np.flatnonzero(differences <= np.asarray(self._distances))
        if not len(near):
            return []
        nearest = int(near[differences[near].argmin()])
        return [ListHit(*self._told[nearest], f"phash at {int(differences[nearest])} bits")]


def read_match_list(text: str, *, file: str, into: MatchList | None = None) -> MatchList:
    """Return the entries of a file, added to those of `into` if given.

    Raises:
        ConfigError: lines are wrong; all of the first faults with their line numbers.
    """
    entries = MatchList() if into is None else into  # An empty one is false.
    faults: list[str] = []
    for number, row in enumerate(csv.reader(text.splitlines(), skipinitialspace=True), start=1):
        fields = [field.strip() for field in row]
        if not any(fields) or fields[0].startswith("#"):
            continue
        fault = _add_row(entries, fields)
        if fault:
            faults.append(f"line {number}: {fault}")
    if faults:
        more = f"; and {len(faults) - FAULTS_SHOWN_MAX} more" if len(faults) > FAULTS_SHOWN_MAX else ""
        raise ConfigError(f"match list {file!r}", value="; ".join(faults[:FAULTS_SHOWN_MAX]) + more)
    return entries


def _add_row(entries: MatchList, fields: Sequence[str]) -> str:
    """Add one entry, or return what is wrong with it."""
    kind, value, reason, label = (*fields, "", "", "", "")[:4]
    label = label or LISTED
    try:
        check_label(label, 1.0)
    except UsageError as error:
        return str(error)
    perceptual = _PHASH_KIND.fullmatch(kind.lower())
    kind = "phash" if perceptual else kind.lower()
    distance = int(perceptual["distance"] or DISTANCE_DEFAULT) if perceptual else 0
    value = _place_of(value) if kind == "url" else value.lower().removesuffix(".")
    if kind in ("sha256", "phash") and not _SHA256.fullmatch(value):
        return f"a {kind} has 64 hex digits"
    if kind == "host" and not _HOST.fullmatch(value):
        return f"{value!r} is no host"
    if kind == "url" and "/" not in value:
        return "a url has a host and a path"
    if kind not in ("sha256", "phash", "host", "url"):
        return f"kind {kind!r} is unknown; known: sha256, phash, host, url"
    if distance > DISTANCE_MAX:
        return f"a distance above {DISTANCE_MAX} bits would hit strangers"
    entries.add(kind, value, reason=reason or f"on a list by {kind}", label=label, distance=distance)
    return ""


def _place_of(url: str) -> str:
    """Return host and path without scheme, user, query and fragment, the host in lower case."""
    rest = _SCHEME.sub("", url.strip()).partition("#")[0].partition("?")[0]
    host, slash, path = rest.partition("/")
    return host.rpartition("@")[2].lower() + slash + path
