"""What a Source makes of a record: an item to be, every fault of it, or nothing on purpose."""

from __future__ import annotations

from typing import Any

import pytest

from gristmill.domain.errors import ConfigError
from gristmill.domain.intake import LeftOut, MappedRecord, Violations
from tests.unit.intake.sources.samples import NEWS, encode, news, record


def mapped(value: Any, text: str = NEWS) -> MappedRecord:
    found = news(text).map(encode(value))
    assert isinstance(found, MappedRecord), found
    return found


def violations(value: Any, text: str = NEWS) -> dict[str, str]:
    found = news(text).map(encode(value))
    assert isinstance(found, Violations), found
    assert found.source_revision == 3
    return dict(one.split(": ", 1) for one in found.violations)


def test_a_sound_record_becomes_an_item_to_be() -> None:
    found = mapped(record())
    assert (found.input_id, found.kind, found.source, found.tenant) == ("7", "article", "news_feed", "main")
    assert (found.revision, found.source_revision, found.author) == (2, 3, "ann")
    assert found.text == "Caf\u00e9 opens\n\nIn the old mill."
    assert found.created_at_ms == 1_706_565_600_000
    assert dict(found.fields) == {
        "title": "Caf\u00e9 opens",
        "body": "In the old mill.",
        "images": ("https://example.org/a", "https://example.org/b"),
        "lang": "en",
    }
    assert dict(found.ext["main"]) == {"heat": 5, "tags": ("food", "town")}


def test_what_is_not_there_is_left_out_or_has_its_default() -> None:
    value = record(pics=None, lang=None, by=None, made=None, tags=None)
    del value["stats"]
    found = mapped(value)
    assert found.created_at_ms == 1_706_693_400_000
    assert (found.author, dict(found.ext["main"])) == (None, {"heat": 0})
    assert sorted(found.fields) == ["body", "title"]


def test_every_fault_is_told_with_its_pointer() -> None:
    value = record(id=None, rev="x", t=5, b=None, pics=[{"u": 1}], lang="?", made="yesterday")
    value["stats"]["heat"] = -1
    found = violations(value)
    assert found == {
        "/identity/biz_id": "is missing: $.art.id finds nothing",
        "/identity/revision": "expected a whole number, got 'x'",
        "/title": "expected text, got a number",
        "/body": "is required, and $.art.b finds nothing",
        "/images/0": "expected string, got integer",
        "/lang": found["/lang"],
        "/created_at": "expected a time like 2024-01-31T09:30:00Z, got 'yesterday'",
        "/ext/main/heat": "-1 is less than the minimum of 0",
    }


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "bytes"),
        (b"\xff{}", "bytes"),
        (b'{"a": ', "json"),
        (b'{"art": {"id": "a\\u0000b"}}', "bytes"),
        (b"[" * 100 + b"]" * 100, "bytes"),
        (b"17", "mapping"),
        (b"[]", "mapping"),
        (b"null", "mapping"),
    ],
)
def test_what_is_no_such_record_is_bad(raw: bytes, reason: str) -> None:
    found = news().map(raw)
    assert isinstance(found, Violations)
    assert found.reason == reason
    assert found.violations


def test_a_fault_of_the_reader_is_passed_on() -> None:
    found = news().map(b"whatever", broken="record: too long")
    assert isinstance(found, Violations)
    assert found.violations == ("record: too long",)


def test_a_source_that_skips_leaves_bad_records_out() -> None:
    assert news(NEWS + "on_bad: skip\n").map(b"{}") == LeftOut("skipped", "mapping", 3)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"t": "x"}, "too_short"),
        ({"lang": "de"}, "foreign"),
        ({"removed": True}, "deleted"),
        ({"removed": 1}, "deleted"),
    ],
)
def test_a_filter_leaves_a_record_out_under_its_name(changes: dict[str, Any], reason: str) -> None:
    assert news().map(encode(record(**changes))) == LeftOut("filtered", reason, 3)


def test_a_filter_that_fails_on_a_record_does_not_filter_it_and_is_counted() -> None:
    mapper = news(NEWS.replace("size(item.title) < 2", "item.body.size() / item.ext.main.heat > 1000"))
    value = record()
    value["stats"]["heat"] = 0
    assert isinstance(mapper.map(encode(value)), MappedRecord)
    assert mapper.filter_errors == {"too_short": 1}


@pytest.mark.parametrize("biz_id", ["", "  ", True, 1.5, {"a": 1}, ["a"], "x" * 8_193])
def test_an_id_must_be_one_text_or_whole_number(biz_id: Any) -> None:
    assert "/identity/biz_id" in violations(record(id=biz_id))


def test_a_revision_is_the_time_of_the_version_where_there_is_no_number() -> None:
    assert mapped(record(rev=None)).revision == 1_706_693_400_000
    assert mapped(record(rev=None, ts=None)).revision == 0
    assert violations(record(rev=-1)) == {"/identity/revision": "is below 0"}


def test_more_values_than_one_are_bad_unless_all_are_wanted() -> None:
    text = NEWS.replace('"$.art.t", required', '"$.art.t[*]", required')
    assert "2 values where one is wanted" in violations(record(t=["a", "b"]), text)["/title"]
    assert mapped(record(t=["a long one"]), text).fields["title"] == "a long one"


def test_a_list_found_as_one_value_fills_a_field_of_many() -> None:
    assert mapped(record(tags=["a;b", None, "c"])).ext["main"]["tags"] == ("a", "b", "c")


def test_the_id_is_told_of_bad_records_too() -> None:
    mapper = news()
    assert mapper.identify(encode(record(t=None)), fallback_id="line-1") == "7"
    assert mapper.identify(encode({"art": {}}), fallback_id="line-1") == "line-1"
    assert mapper.identify(b"{", fallback_id="line-1") == "line-1"


def test_a_tenant_other_than_the_default_stands_in_the_address() -> None:
    text = NEWS.replace("source: news_feed", "source: news_feed\ntenant: acme").replace("ext.main", "ext.acme")
    found = mapped(record(), text)
    assert (found.tenant, found.source) == ("acme", "acme/news_feed")
    assert dict(found.ext) == {"acme": {"heat": 5, "tags": ("food", "town")}}


BLOCKS = NEWS.replace('path: "$.art.b", required: true', 'path: "$.art.blocks", required: true')


def test_an_article_of_blocks_has_their_texts() -> None:
    blocks = [{"type": "text", "text": "One."}, {"type": "image", "uri": "https://a"}, {"type": "text", "text": "Two."}]
    assert mapped(record(blocks=blocks), BLOCKS).text == "Caf\u00e9 opens\n\nOne.\n\nTwo."
    assert list(violations(record(blocks=[{"kind": "text"}]), BLOCKS)) == ["/body"]


IMAGE = """\
source: pictures
type: image
identity: {biz_id: "$.id"}
map:
  - {to: uri, path: "$.url"}
  - {to: alt, path: "$.alt"}
"""


def test_an_image_has_its_description_for_a_text() -> None:
    found = mapped({"id": "a", "url": "https://a", "alt": "a mill"}, IMAGE)
    assert (found.kind, found.text, dict(found.fields)) == ("image", "a mill", {"uri": "https://a", "alt": "a mill"})
    assert violations({"id": "a"}, IMAGE) == {"/uri": "is missing"}


POST = """\
source: posts
type: post
identity: {biz_id: "$.id"}
map:
  - {to: text, path: "$..text"}
  - {to: media, path: "$.media", many: true}
filter:
  - {drop: quiet, when: "item.text == 'a.b \\"item.nothing\\"'"}
"""


def test_paths_of_the_whole_standard_find_their_values() -> None:
    found = mapped({"id": "a", "deep": {"er": {"text": "hello"}}, "media": [{"uri": "u", "mime": "image/png"}]}, POST)
    assert found.text == "hello"
    assert dict(found.fields["media"][0]) == {"uri": "u", "mime": "image/png"}
    assert list(violations({"id": "a", "text": "a", "media": [{"url": "u"}]}, POST)) == ["/media/0"]


@pytest.mark.parametrize(
    ("when", "problem"),
    [
        ("size(item.title) <", "Syntax error|mismatched|expected"),
        ("title == 'a'", "unknown name 'title'"),
        ("item.titel == 'a'", "unknown field 'titel'"),
        ("item.ext.main.heta > 1", "unknown field 'ext.main.heta'"),
        ("item.lang == 'en'", "field 'lang' may be missing"),
        ("size(item) > 1", "uses the item as a whole"),
        ("item['title'] == 'a'", "uses the item as a whole"),
        ("size(item.title)", "gives 6"),
    ],
)
def test_a_filter_is_refused_at_once_where_it_could_fail_later(when: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        news(NEWS.replace("size(item.title) < 2", when.replace('"', '\\"')))
    assert "news.yaml:21: filter 'too_short'" in str(caught.value)


@pytest.mark.parametrize(
    "when",
    [
        "item.title.contains('x') && item . ext . main . heat > 3",
        "has(item.images) && item.images.exists(one, one.startsWith('http://'))",
        "!has(item.ext.main.tags) || size(item.ext.main.tags) > 9",
        "item.title == 'item.nothing at all'",
    ],
)
def test_a_sound_filter_is_taken(when: str) -> None:
    assert isinstance(news(NEWS.replace("size(item.title) < 2", when)).map(encode(record())), MappedRecord)
