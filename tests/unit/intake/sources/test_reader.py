"""A Source file is refused with file, line and the nearest known name; a sound one says what it says."""

from __future__ import annotations

import pytest

from gristmill.domain.errors import ConfigError
from gristmill.intake.sources.definition import ConversionStep
from gristmill.intake.sources.reader import read_source
from tests.unit.intake.sources.samples import NEWS


def test_a_sound_file_is_read_whole() -> None:
    found = read_source(NEWS, file="news.yaml")
    assert (found.name, found.tenant, found.kind, found.topic, found.decode) == (
        "news_feed",
        "main",
        "article",
        "raw.news",
        "json",
    )
    assert (found.on_bad, found.order, found.traffic_class, found.start) == (
        "quarantine",
        "free",
        "live",
        ("article_main",),
    )
    assert found.fields[0].convert == (ConversionStep("strip"), ConversionStep("nfc"))
    assert found.fields[-1].convert == (ConversionStep("split", ";"),)
    assert (found.fields[0].line, found.filters[1].line) == (6, 22)
    assert len(found.hash) == 16
    assert found.hash != read_source(NEWS + "# more\n", file="news.yaml").hash


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("type: article/1", "type: artikel/1", "news.yaml:2: type: unknown type 'artikel' (did you mean 'article'?"),
        ("type: article/1", "type: article/2", "news.yaml:2: type: article has no version '2'"),
        ("type: article/1", "kind: article", "news.yaml:2: source: unknown key 'kind'"),
        ("source: news_feed", "source: news feed", "news.yaml:1: source: is 'news feed'"),
        ("source: news_feed", "name: 5", "news.yaml:1: source: unknown key 'name'"),
        ("decode: json", "decode: jsno", "news.yaml:3: decode: is 'jsno' (did you mean 'json'?"),
        ('biz_id: "$.art.id", ', "", "news.yaml:4: identity: has no biz_id"),
        ("deleted:", "removed:", "news.yaml:4: identity: unknown key 'removed'"),
        ("to: title,", "to: titel,", "news.yaml:6: map: unknown field 'titel' (did you mean 'title'?"),
        ('"$.art.t"', '"$.art["', "news.yaml:6: field 'title': no JSONPath: unbalanced brackets"),
        ('"$.art.t"', '"art.t"', "news.yaml:6: field 'title': path is 'art.t'"),
        ("convert: [strip, nfc]", "convert: [stirp]", "unknown conversion 'stirp' (did you mean 'strip'?"),
        ("convert: [strip, nfc]", "convert: [{strip: x}]", "conversion 'strip' takes no 'x'"),
        ("convert: [strip, nfc]", "convert: [{split: 5}]", "conversion 'split' takes no 5"),
        ("required: true, convert", "requird: true, convert", "unknown key 'requird' (did you mean 'required'?"),
        ("required: true, convert", "required: yep, convert", "required is 'yep'"),
        ("required: true, convert", "required: true, default: a, convert", "is required and has a default"),
        ("to: lang", "to: title", "field 'title': is filled twice"),
        ("default: 0", "default: zero", "default 'zero' is no value of this field"),
        ('  - {to: body, path: "$.art.b", required: true}\n', "", "does not fill 'body' (every article has it)"),
        ("to: ext.main.heat", "to: ext.main.heta", "is declared by no extension of this tenant"),
        ("to: ext.main.heat", "to: ext.acme.heat", "is declared by no extension of this tenant"),
        ("  ext.main:\n", "  ext.acme:\n", "extension: unknown key 'ext.acme' (did you mean 'ext.main'?"),
        ("  ext.main:\n", "  title:\n", "extension: unknown key 'title'"),
        ("      heat: {type: integer", "      title: {type: integer", "field 'title' is a standard field of article"),
        ("{type: integer, minimum: 0}", "{type: integr}", "ext.main: no JSON Schema"),
        ("    type: object\n", "    type: array\n", "must describe an object"),
        ("drop: too_short", "drop: too short", "drop: is 'too short'"),
        ("drop: too_short, when", "drop: too_short, wenn", "filter: unknown key 'wenn' (did you mean 'when'?"),
        ("start: [article_main]", "start: [1]", "start: is no list of plan keys"),
        ("start: [article_main]", "on_bad: drop", "on_bad: is 'drop'"),
        ("start: [article_main]", "start: [", "no valid YAML"),
        ("start: [article_main]", "source: again", "key 'source' stands twice"),
        (NEWS, "- 1\n", "news.yaml: source: has no keys"),
        (NEWS[NEWS.index("map:") : NEWS.index("extension:")], "map: {}\n", "map: is no list"),
        (NEWS[NEWS.index("map:") : NEWS.index("extension:")], "map: [1]\n", "has an entry without keys"),
        (NEWS[NEWS.index("map:") : NEWS.index("extension:")], "", "fills no field"),
    ],
)
def test_a_mistake_is_named_with_its_place(old: str, new: str, said: str) -> None:
    assert old in NEWS
    with pytest.raises(ConfigError) as caught:
        read_source(NEWS.replace(old, new, 1), file="news.yaml")
    assert said in str(caught.value)


def test_tenants_may_extend_a_kind_with_fields_of_one_name() -> None:
    other = NEWS.replace("source: news_feed", "source: news_feed\ntenant: acme").replace("ext.main", "ext.acme")
    other = other.replace("{type: integer, minimum: 0}", "{type: string}").replace(", default: 0, convert: [int]", "")
    assert read_source(NEWS, file="a").extension["properties"]["heat"]["type"] == "integer"
    assert read_source(other, file="b").extension["properties"]["heat"]["type"] == "string"
