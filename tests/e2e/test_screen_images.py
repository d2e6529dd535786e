"""`gristmill run` labels pictures: inline ones and those of a server that the allow-list names."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import numpy as np

from gristmill.testing.media import Pixels, draw_picture, encode_png
from tests.commands import run, write
from tests.media_server import MediaServer, answer

PICTURE = draw_picture(1)
SMALLER = PICTURE[::2, ::2]
OTHER = draw_picture(2)


def inline(pixels: Pixels) -> str:
    return f"data:image/png;base64,{base64.b64encode(encode_png(np.ascontiguousarray(pixels))).decode()}"


async def test_pictures_of_a_file_are_labelled(tmp_path: Path) -> None:
    async with MediaServer({"/a.png": [answer(encode_png(PICTURE))]}) as server:
        posts = [
            {"id": "first", "text": "the harbour at dawn", "images": [server.url("/a.png")]},
            {"id": "smaller", "text": "what a view, friends", "image_url": inline(SMALLER)},
            {"id": "other", "text": "something else again", "media": [{"type": "photo", "url": inline(OTHER)}]},
            {"id": "inwards", "text": "look at this one", "images": ["http://169.254.169.254/latest/meta-data"]},
            {"id": "gone", "text": "this one is gone", "images": [server.url("/gone.png")]},
            {"id": "words", "text": "no picture here at all"},
        ]
        source = write(tmp_path / "posts.jsonl", "".join(json.dumps(post) + "\n" for post in posts))
        output = tmp_path / "out.jsonl"
        arguments = ("run", "--input", source, "--output", output, "--state", tmp_path / "state")
        ended = await asyncio.to_thread(run, *arguments, env={"GRISTMILL_MEDIA__ALLOW": server.authority})
    assert ended.returncode == 0, ended.stderr
    lines = {line["id"]: line for line in map(json.loads, output.read_text(encoding="utf-8").splitlines())}
    labels = {name: labels_of(line) for name, line in lines.items()}
    assert labels["smaller"]["near-duplicate"] == ["first"]
    assert labels["inwards"]["unscreened"][0].startswith("http://169.254.169.254/")
    for name in ("first", "other", "gone", "words"):
        assert labels[name].keys() <= {"lang"}, name
    assert lines["first"]["fields"]["images"]["images"][0]["media_type"] == "image/png"
    assert lines["other"]["fields"]["nudity"]["scores"][0]["bucket"] == "safe"
    assert lines["gone"]["fields"]["images"]["missing_media"][0]["reason"] == "absent"
    assert "images" not in lines["words"]["fields"]


def labels_of(line: dict[str, Any]) -> dict[str, list[str]]:
    return {label["val"]: label["evidence"] for label in line["labels"]}
