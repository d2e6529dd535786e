"""Direct paths find what the library finds; no JSON makes a mapping raise; every planted fault is told."""

from __future__ import annotations

import json
from typing import Any

import jsonpath_rfc9535
from hypothesis import example, given
from hypothesis import strategies as st

from gristmill.domain.intake import LeftOut, MappedRecord, Violations
from gristmill.intake.sources.conversions import CONVERSIONS, WITH_ARGUMENT, chain
from gristmill.intake.sources.definition import ConversionStep
from gristmill.intake.sources.paths import compile_path
from tests.unit.intake.sources.samples import encode, news, record

names = st.sampled_from(["a", "b", "art", "stats", "id", "t", "pics", "u", "\u00e9", "x y"])
numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | st.text(max_size=8)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=12,
)
steps = st.lists(
    st.one_of(
        names.map(lambda name: f"[{json.dumps(name)}]"),
        st.integers(-4, 4).map(lambda index: f"[{index}]"),
        st.just("[*]"),
        st.sampled_from([".a", ".b", ".*"]),
    ),
    max_size=4,
)


@given(steps, documents)
@example([".a", "[*]", ".b"], {"a": [{"b": 1}, {"b": None}, 3]})
@example(["[*]", "[*]"], {"a": [1, 2], "b": {"c": 3}})
def test_a_direct_path_finds_what_the_library_finds(parts: list[str], document: Any) -> None:
    path = "$" + "".join(parts)
    assert compile_path(path)(document) == jsonpath_rfc9535.compile(path).find(document).values()


@given(documents, st.sampled_from(["$..a", "$.a[1:3]", "$[?@.a > 1]", "$[?match(@.a, 'x+')]", "$['a','b']", "$..[*]"]))
def test_a_path_of_the_library_never_raises(document: Any, path: str) -> None:
    assert isinstance(compile_path(path)(document), list)


@given(documents)
def test_a_mapping_never_raises_on_any_json(document: Any) -> None:
    assert isinstance(news().map(encode(document)), MappedRecord | Violations | LeftOut)


@given(st.binary() | st.text().map(str.encode))
def test_a_mapping_never_raises_on_any_bytes(raw: bytes) -> None:
    assert isinstance(news().map(raw), MappedRecord | Violations | LeftOut)


@given(documents)
def test_a_mapping_never_raises_on_any_part_of_a_sound_record(part: Any) -> None:
    mapper = news()
    for name in record()["art"]:
        assert isinstance(mapper.map(encode(record(**{name: part}))), MappedRecord | Violations | LeftOut)


@given(documents, st.sampled_from([*CONVERSIONS, *WITH_ARGUMENT]))
def test_a_conversion_gives_a_value_or_says_what_it_expected(value: Any, name: str) -> None:
    (convert,) = chain([ConversionStep(name)])
    refusal = "none"
    try:
        convert(value)
    except ValueError as error:
        refusal = str(error)
    assert refusal


FAULTS: dict[str, dict[str, Any]] = {
    "/identity/biz_id": {"id": {}},
    "/identity/revision": {"rev": "two"},
    "/identity/at": {"ts": "noon"},
    "/identity/deleted": {"removed": "perhaps"},
    "/title": {"t": None},
    "/body": {"b": 5},
    "/images/0": {"pics": [{"u": 1}]},
    "/lang": {"lang": "english language"},
    "/author": {"by": {"name": 5}},
    "/created_at": {"made": 5},
}


@given(st.sets(st.sampled_from(sorted(FAULTS))), st.booleans())
def test_every_fault_that_is_planted_is_told_and_no_other(chosen: set[str], is_cold: bool) -> None:
    value = record(**{name: part for fault in chosen for name, part in FAULTS[fault].items()})
    if is_cold:
        value["stats"]["heat"] = -5
    found = news().map(encode(value))
    expected = chosen | ({"/ext/main/heat"} if is_cold else set())
    if not expected:
        assert isinstance(found, MappedRecord)
    else:
        assert isinstance(found, Violations)
        told = {one.split(": ", 1)[0] for one in found.violations}
        assert told == expected
