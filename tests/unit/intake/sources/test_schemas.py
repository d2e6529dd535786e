"""Sources of protobuf and Avro records: what their files may say, what is published, what becomes of records."""

from __future__ import annotations

from pathlib import Path

import pytest

from gristmill.adapters.memory import MemoryStore
from gristmill.domain.errors import ConfigError
from gristmill.domain.intake import LeftOut, MappedRecord, Violations
from gristmill.domain.log import Delivery, Lease
from gristmill.intake.sources import catalogue
from gristmill.intake.sources.catalogue import LiveSources, load_source, publish_source
from gristmill.intake.sources.reader import read_source
from gristmill.intake.sources.trial import Trial
from gristmill.plans.plan import Generator
from gristmill.runtime.composition.decode import RecordDecoder
from gristmill.testing.clock import FakeClock
from tests.unit.intake.codecs.schemas import SOURCE, avro_record, avro_schema, descriptor_set, protobuf_record

PROTOBUF = "{log: raw.posts, decode: protobuf, descriptor: schemas/posts.binpb, message: posts.v1.Post}"
AVRO = "{log: raw.posts, decode: avro, schema: schemas/posts.avsc}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "posts.binpb").write_bytes(descriptor_set().SerializeToString())
    (tmp_path / "schemas" / "posts.avsc").write_bytes(avro_schema())
    return tmp_path


def source_file(folder: Path, origin: str, **changes: str) -> Path:
    text = SOURCE.replace("{from}", origin)
    for old, new in changes.items():
        text = text.replace(old, new)
    path = folder / "posts.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_protobuf_record_is_mapped_like_any_other(folder: Path) -> None:
    mapper = load_source(source_file(folder, PROTOBUF))
    found = mapper.map(protobuf_record({"id": "7", "text": "Hi", "likes": 3, "tags": ["a"], "by": {"name": "Ann"}}))
    assert isinstance(found, MappedRecord)
    assert (found.input_id, found.text, found.author) == ("7", "Hi", "Ann")
    assert found.ext["main"]["likes"] == 3


def test_an_avro_record_is_mapped_like_any_other(folder: Path) -> None:
    raw = avro_record(
        {"id": 7, "text": "Hi", "lang": "en", "likes": 3, "made_at": 0, "tags": ["a"], "by": {"name": "Ann"}}
    )
    mapper = load_source(source_file(folder, AVRO))
    found = mapper.map(raw)
    assert isinstance(found, MappedRecord)
    assert (found.input_id, found.text, found.author) == ("7", "Hi", "Ann")
    assert mapper.identify(raw, fallback_id="none") == "7"


@pytest.mark.parametrize(
    ("raw", "reason", "says"),
    [
        (b"\xff\xff", "decode", "is no message posts.v1.Post"),
        (b"", "decode", "is empty"),
        (protobuf_record({"id": "7", "text": "nul \x00 inside"}), "bytes", "NUL"),
        (protobuf_record({"id": "7"}), "mapping", "/text"),
        (protobuf_record({"id": "0", "text": "an id that nobody has set"}), "mapping", "biz_id"),
    ],
)
def test_a_record_that_is_none_is_refused_with_its_reason(folder: Path, raw: bytes, reason: str, says: str) -> None:
    mapper = load_source(source_file(folder, PROTOBUF))
    found = mapper.map(raw)
    assert isinstance(found, Violations)
    assert found.reason == reason
    assert says in " ".join(found.violations)
    skipping = load_source(source_file(folder, PROTOBUF, **{"type: post/1": "type: post/1\non_bad: skip"}))
    assert isinstance(skipping.map(raw), LeftOut)


def test_bytes_that_do_not_decode_have_no_id_of_their_own(folder: Path) -> None:
    assert load_source(source_file(folder, PROTOBUF)).identify(b"\xff", fallback_id="record-1") == "record-1"


def test_a_trial_shows_what_paths_find_in_decoded_records(folder: Path) -> None:
    trial = Trial(load_source(source_file(folder, PROTOBUF)))
    trial.add(protobuf_record({"id": "7", "text": "Hi"}))
    trial.add(b"\xff\xff")
    report = trial.report()
    assert report.outcomes == {"accepted": 1, "quarantined:decode": 1}
    assert {one.to: one.hits for one in report.paths}["text"] == 1


def test_what_is_published_holds_its_schema_and_needs_no_file(folder: Path) -> None:
    first = load_source(source_file(folder, AVRO)).definition
    again = load_source(source_file(folder, AVRO)).definition
    assert first.hash == again.hash
    (folder / "schemas" / "posts.avsc").write_bytes(avro_schema().replace(b'"likes"', b'"stars"'))
    assert load_source(source_file(folder, AVRO)).definition.hash != first.hash
    (folder / "schemas" / "posts.avsc").unlink()
    elsewhere = folder / "from_registry.yaml"
    elsewhere.write_text(first.text, encoding="utf-8")
    assert load_source(elsewhere).definition.schema == first.schema


@pytest.mark.parametrize(
    ("origin", "match"),
    [
        ("{decode: protobuf, message: posts.v1.Post}", r"posts\.yaml:3: descriptor"),
        ("{decode: protobuf, descriptor: schemas/posts.binpb}", r"posts\.yaml:3: message"),
        ("{decode: protobuf, descriptor: none.binpb, message: a.B}", r"none\.binpb cannot be read"),
        ("{decode: protobuf, descriptor: schemas/posts.binpb, message: posts.v1.Past}", "did you mean"),
        ("{decode: avro, schema: schemas/posts.binpb}", "is no Avro schema"),
        ("{decode: avro, schema: schemas/posts.avsc, message: a.B}", "message: means nothing with decode: avro"),
        ("{decode: avro, schema: schemas/posts.avsc, framing: magic}", "framing.*confluent"),
        ("{decode: json, schema: schemas/posts.avsc}", "schema: means nothing with decode: json"),
    ],
)
def test_keys_that_do_not_fit_together_are_refused_by_name(folder: Path, origin: str, match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        load_source(source_file(folder, origin))


def test_a_schema_beyond_any_use_is_refused(folder: Path) -> None:
    (folder / "schemas" / "posts.avsc").write_bytes(b" " * (1024 * 1024 + 1))
    with pytest.raises(ConfigError, match=r"posts\.avsc has \d+ bytes"):
        load_source(source_file(folder, AVRO))


def test_a_file_that_is_one_line_cannot_take_its_schema_in(folder: Path) -> None:
    path = folder / "posts.yaml"
    path.write_text(f'{{source: posts, type: post/1, from: {AVRO}, identity: {{biz_id: "$.id"}}, map: []}}')
    with pytest.raises(ConfigError, match="write each key on a line"):
        load_source(path)


def test_a_text_without_its_schema_is_refused() -> None:
    with pytest.raises(ConfigError, match="gristmill source publish"):
        read_source(SOURCE.replace("{from}", AVRO), file="posts.yaml")
    with pytest.raises(ConfigError, match="damaged"):
        read_source(SOURCE.replace("{from}", AVRO) + "embedded: '####'\n", file="posts.yaml")


async def test_records_of_a_source_that_cannot_be_used_here_wait_instead_of_being_taken_for_json(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    store = MemoryStore(clock)
    await publish_source(store.definitions, load_source(source_file(folder, AVRO)), actor="me", clock=clock)

    def refuse(*_: object, **__: object) -> None:
        raise ConfigError("records of a source with decode: avro cannot be read here")

    monkeypatch.setattr(catalogue, "compile_source", refuse)
    sources = LiveSources(store.definitions, clock)
    await sources.refresh()
    generator = Generator(type="posts", topic="raw.posts", plans=("p",), source="posts")
    delivery = Delivery(Lease("raw.posts", "posts", 1, "me", 1), b'{"id": "7", "text": "x"}', "", {}, 1, 0)
    with pytest.raises(Exception, match="cannot be used"):
        RecordDecoder({}, sources)(delivery, generator)
