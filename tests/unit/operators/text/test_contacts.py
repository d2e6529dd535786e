"""Links, phones, mails, handles and wallets, plain and disguised."""

import pytest

from gristmill.operators.text.contacts import find_contacts
from gristmill.operators.text.links import Link, is_on_host, is_referral, link_key


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("see https://www.Example.com:80/a/B/?x=1#f).", ["example.com/a/b"]),
        ("www.example.org", ["example.org"]),
        ("example.co/k6a5 is new", ["example.co/k6a5"]),
        ("great-site . com now", ["great-site.com"]),
        ("you[tube] . com/foo", ["youtube.com/foo"]),
        ("my site: example[.]net", ["example.net"]),
        ("example dot com", ["example.com"]),
        ("hxxp://bad.biz/x", ["bad.biz/x"]),
        ("https://youtu.be/abc and /watch?v=abcdefghijk", ["youtu.be/abc", "youtube.com/watch?v=abcdefghijk"]),
        ("https://user:secret@host.ru/x", ["host.ru/x"]),
        ("http://例え.jp/あ", ["例え.jp/あ"]),
    ],
)
def test_links_are_found_however_they_are_written(text: str, keys: list[str]) -> None:
    assert [link_key(link) for link in find_contacts(text).links] == keys


@pytest.mark.parametrize(
    "text",
    [
        "I love it.so much",
        "Great.this is it",
        "e.g. node.js, main.py, i.e. the U.S. at 3.14",
        "the dot com bubble and the good dot com boom",
        "look at me. come on",
        "www.x",
    ],
)
def test_missing_blanks_and_file_names_are_no_links(text: str) -> None:
    assert find_contacts(text).links == ()


@pytest.mark.parametrize(
    ("text", "phones"),
    [
        ("+1 415-555-2671", ("14155552671",)),
        ("call (415) 555-2671 today", ("4155552671",)),
        ("whatsapp me 0171 2345678", ("01712345678",)),
        ("2,126,492,636 views, 2.126.521.750 likes, 2014-11-10, 10:30, 192.168.0.1", ()),
        ("scored 100-200 and 30 of 40", ()),
    ],
)
def test_phone_numbers_are_told_from_counts_and_dates(text: str, phones: tuple[str, ...]) -> None:
    assert find_contacts(text).phones == phones


def test_mail_addresses_are_found_and_not_taken_for_links() -> None:
    found = find_contacts("bob.x (at) gmail (dot) com, a@b.co.uk, me at gmail dot com")
    assert found.mails == ("bob.x@gmail.com", "a@b.co.uk", "me@gmail.com")
    assert found.links == ()


def test_handles_and_wallets_are_found() -> None:
    found = find_contacts("@ann_lee, ig: foo_bar1, 0x52908400098527886E0F7030069857D2E4169EE7")
    assert found.handles == ("ann_lee", "foo_bar1")
    assert found.wallets == ("0x52908400098527886E0F7030069857D2E4169EE7",)


def test_words_are_counted_outside_links() -> None:
    found = find_contacts("one https://example.com/two/three four")
    assert (found.word_count, found.outside) == (2, "one   four")
    assert find_contacts("no link").outside is None


def test_a_link_is_on_a_host_and_on_those_above_it() -> None:
    link = Link("", "en.wikipedia.org")
    assert is_on_host(link, {"wikipedia.org"})
    assert not is_on_host(Link("", "evilwikipedia.org"), {"wikipedia.org"})


def test_links_that_pay_their_author_are_recognised() -> None:
    (paid,) = find_contacts("https://example.com/join?ref=4711").links
    (plain,) = find_contacts("https://example.com/preference/ref-guide").links
    assert is_referral(paid)
    assert not is_referral(plain)
