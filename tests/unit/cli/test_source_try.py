"""`gristmill source try` on samples that are no lines: single records, folders of them, topics."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gristmill.cli import main
from gristmill.intake import samples
from tests.commands import put, run
from tests.unit.intake.codecs.schemas import SOURCE, descriptor_set, protobuf_record
from tests.unit.intake.sources.samples import NEWS

ORIGIN = "{log: raw.posts, decode: protobuf, descriptor: posts.binpb, message: posts.v1.Post}"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "posts.binpb").write_bytes(descriptor_set().SerializeToString())
    path = tmp_path / "posts.yaml"
    path.write_text(SOURCE.replace("{from}", ORIGIN), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "samples"
    folder.mkdir()
    (folder / "1").write_bytes(protobuf_record({"id": "7", "text": "Hi"}))
    (folder / "2").write_bytes(b"\xff\xff")
    return folder


def test_one_record_in_a_file_is_tried(source: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["source", "try", str(source), "--input", str(folder / "1")]) == 0
    assert "1  accepted" in capsys.readouterr().out


def test_a_folder_of_records_is_tried(source: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["source", "try", str(source), "--input", str(folder)]) == 3
    said = capsys.readouterr().out
    assert "2 records" in said
    assert "quarantined:decode" in said
    assert "is no message posts.v1.Post" in said


def test_records_of_a_topic_are_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state, source = tmp_path / "state", tmp_path / "news.yaml"
    source.write_text(NEWS, encoding="utf-8")
    asyncio.run(put(state, "raw.news", ["one", "two", "three"]))
    command = ["source", "try", str(source), "--topic", "raw.news", "--state", str(state)]
    assert main([*command, "--limit", "2"]) == 3
    assert "2 records" in capsys.readouterr().out
    assert main([*command[:-4], "--topic", "none", "--state", str(state)]) == 2
    assert "holds no records" in capsys.readouterr().err


def test_a_file_of_lines_is_not_run_by_a_source_of_messages(source: Path, tmp_path: Path) -> None:
    lines = tmp_path / "posts.jsonl"
    lines.write_text('{"id": 7, "text": "Hi"}\n', encoding="utf-8")
    output, state = tmp_path / "out.jsonl", tmp_path / "state"
    refused = run("run", "--source", source, "--input", lines, "--output", output, "--state", state)
    assert refused.returncode == 2
    assert "gristmill up --topic TOPIC" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "--topic TOPIC"),
        (["--input", "x", "--topic", "y"], "one of them"),
        (["--input", "none"], "sample cannot be read"),
        (["--input", "empty"], "folder is empty"),
        (["--input", "large"], "too large"),
    ],
)
def test_what_is_no_sample_is_refused(
    source: Path,
    tmp_path: Path,
    *,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(samples, "RECORD_BYTES_MAX", 10)
    (tmp_path / "empty").mkdir()
    (tmp_path / "large").write_bytes(b"x" * 11)
    assert main(["source", "try", str(source), *arguments]) == 2
    assert says in capsys.readouterr().err
