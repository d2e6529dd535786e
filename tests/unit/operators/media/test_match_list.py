"""Lists of known pictures and places."""

import pytest

from gristmill.domain.errors import ConfigError
from gristmill.operators.media import ListHit, read_match_list

SHA = "ab" * 32
HASH = "f0" * 32
LIST = f"""
# kind, value, reason, label
sha256, {SHA.upper()}, reported by the exchange
phash/10, {HASH}, "scam, of March", scam-picture
host, Pics.Example., spreads malware
url, https://cdn.example/ads/a.png?x=1, an advert, unwanted
"""


def flip(bits: int) -> str:
    return f"{int(HASH, 16) ^ ((1 << bits) - 1):064x}"


def test_entries_are_found_by_what_they_name() -> None:
    known = read_match_list(LIST, file="list.csv")
    assert len(known) == 4
    assert known.match_picture(SHA, "") == [ListHit("listed", "reported by the exchange", "sha256")]
    assert known.match_picture("", flip(10)) == [ListHit("scam-picture", "scam, of March", "phash at 10 bits")]
    assert known.match_picture("", flip(11)) == []
    assert known.match_place("http://cdn.example/ads/a.png#top") == [ListHit("unwanted", "an advert", "url")]
    for url in ("http://pics.example/x", "https://a.b.PICS.example:8080/x", "http://user@pics.example/"):
        assert known.match_place(url) == [ListHit("listed", "spreads malware", "host")], url
    for url in ("http://otherpics.example/x", "http://pics.example.org/", "http://cdn.example/ads/b.png"):
        assert known.match_place(url) == [], url


def test_of_several_near_hashes_the_nearest_counts() -> None:
    known = read_match_list(f"phash,{flip(5)},five\nphash,{flip(2)},two", file="list.csv")
    assert known.match_picture("", HASH) == [ListHit("listed", "two", "phash at 2 bits")]


def test_several_files_are_one_list() -> None:
    known = read_match_list(f"sha256,{SHA}", file="a.csv")
    known = read_match_list("host,pics.example", file="b.csv", into=known)
    assert len(known) == 2
    assert known.match_picture(SHA, "") == [ListHit("listed", "on a list by sha256", "sha256")]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("md5,abc", "kind 'md5' is unknown; known: sha256"),
        ("sha256,abc", "64 hex digits"),
        (f"phash/99,{HASH}", "above 64 bits"),
        ("host,a b", "no host"),
        ("url,example", "host and a path"),
        ("host,a.example,why,Not A Label", "label"),
    ],
)
def test_a_wrong_line_is_named_with_its_number(line: str, fault: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_match_list(f"# first\n{line}\n", file="list.csv")
    assert "line 2" in str(caught.value)
    assert fault in str(caught.value).replace('\\"', '"').replace("\\'", "'")


def test_of_many_faults_the_first_are_told() -> None:
    with pytest.raises(ConfigError, match="and 2 more"):
        read_match_list("md5,abc\n" * 7, file="list.csv")
