"""What the demo puts into its folder, and where it serves that."""

import json
import socket
from contextlib import suppress
from pathlib import Path

from gristmill.cli.demonstration.seed import write_posts
from gristmill.cli.demonstration.showing import with_free_port
from gristmill.runtime.settings_sources import load_settings
from gristmill.testing.clock import FakeClock

HOUR_MS = 3_600_000


def test_the_posts_are_of_the_last_hours_and_stay_as_they_are(tmp_path: Path) -> None:
    clock = FakeClock()
    posts = write_posts(tmp_path, clock)
    lines = posts.read_bytes().splitlines()
    assert len({json.loads(line)["created_at"] for line in lines[:-1]}) == 62
    clock.advance(HOUR_MS)
    assert write_posts(tmp_path, clock).read_bytes().splitlines() == lines


def test_posts_of_another_edition_are_written_anew(tmp_path: Path) -> None:
    (tmp_path / "demo_posts.jsonl").write_text('{"id": "p01", "created_at": "", "text": "earlier"}\n', "utf-8")
    assert len(write_posts(tmp_path, FakeClock()).read_bytes().splitlines()) == 63


def test_a_usual_port_that_is_taken_is_left_to_whoever_has_it() -> None:
    usual = load_settings(file=None, env={})
    with socket.socket() as other:
        # If this fails, another program has it, which is as good.
        with suppress(OSError):
            other.bind((usual.settings.api.host, usual.settings.api.port))
            other.listen()
        assert with_free_port(usual).settings.api.port == 0


def test_a_port_that_somebody_has_chosen_is_kept() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        chosen = load_settings(file=None, env={"GRISTMILL_API__PORT": str(taken)})
        assert with_free_port(chosen).settings.api.port == taken
