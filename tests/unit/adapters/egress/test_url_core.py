"""Addresses are read in one way only, or refused."""

import pytest

from gristmill.adapters.egress.url_core import URL_CHARS_MAX, Target, UrlRefused, parse_url


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("http://example.com", Target("http", "example.com", 80, "/", False)),
        ("HTTPS://Example.COM./a/b?x=1#top", Target("https", "example.com", 443, "/a/b?x=1", False)),
        ("http://example.com:8080?x", Target("http", "example.com", 8080, "/?x", False)),
        ("http://8.8.8.8/a", Target("http", "8.8.8.8", 80, "/a", True)),
        ("http://[2001:DB8::1]:81/", Target("http", "2001:db8::1", 81, "/", True)),
        ("http://bücher.example/straße", Target("http", "xn--bcher-kva.example", 80, "/stra%C3%9Fe", False)),
        ('http://example.com/a"b', Target("http", "example.com", 80, "/a%22b", False)),
    ],
)
def test_sound_addresses_are_taken_apart(text: str, target: Target) -> None:
    assert parse_url(text) == target


@pytest.mark.parametrize(
    "text",
    [
        *("", "example.com", "//example.com", "ftp://example.com/", "file:///etc/passwd", "gopher://example.com/"),
        *("javascript:alert(1)", "data:image/png;base64,AA", "dict://127.0.0.1:11211/", "http:/example.com"),
        *("http://", "http:///path", "http://?x", "http://example.com:0/", "http://example.com:65536/"),
        *("http://example.com:/", "http://example.com:80:80/", "http://example.com:８０/", "http://exa mple.com/"),
        *("http://user@example.com/", "http://user:pass@127.0.0.1/", "http://example.com@127.0.0.1/", "http://@/"),
        *("http://example.com\\@127.0.0.1/", "http://127.0.0.1\\.example.com", "http://example.com/\r\nHost: x"),
        *("http://2130706433/", "http://0x7f000001/", "http://0x7f.1/", "http://0177.0.0.1/", "http://127.1/"),
        *("http://127.0.0.1.1/", "http://256.1.1.1/", "http://1.2.3.0x4/", "http://example.1/", "http://127.000.0.1/"),
        *("http://[::1/", "http://[::1%25eth0]/", "http://[127.0.0.1]/", "http://[]/", "http://[fe80::1%eth0]/"),
        *("http://-example.com/", "http://exa..mple.com/", "http://.example.com/", "http://exam%70le.com/"),
        *("http://" + "a" * 64 + ".com/", "http://" + "a." * 130 + "com/", "http://" + "ü" * 70 + ".com/"),
        "http://example.com/" + "a" * URL_CHARS_MAX,
    ],
)
def test_whatever_could_mean_two_things_is_refused(text: str) -> None:
    with pytest.raises(UrlRefused):
        parse_url(text)


@pytest.mark.parametrize("text", ["http://１２７.0.0.1/", "http://127。0。0。1/"])
def test_odd_digits_and_dots_are_folded_before_they_are_judged(text: str) -> None:
    assert parse_url(text).host == "127.0.0.1"


def test_an_address_has_one_spelling() -> None:
    assert parse_url("HTTP://Example.com:80/x#y").url == "http://example.com/x"
    assert parse_url("https://[::1]:444").url == "https://[::1]:444/"
