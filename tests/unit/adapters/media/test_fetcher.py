"""Where bytes come from: inline, from a folder that is allowed, or over a server that may fail."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gristmill.adapters.media import FetchLimits, GuardedFetcher, NothingInstalled, not_installed
from gristmill.domain.errors import Unavailable
from gristmill.ports.egress import Answer, Refused
from gristmill.ports.media import Fetched, Missing
from tests.driving import JumpingClock

URL = "http://example.com/a.png"


class Said:
    """An `Egress` that says what it is told, the last thing again and again."""

    def __init__(self, *answers: Answer | Refused | Unavailable) -> None:
        self._answers = list(answers)
        self.calls = 0

    async def get(self, url: str, *, bytes_max: int) -> Answer | Refused:
        self.calls += 1
        said = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(said, Unavailable):
            raise said
        return said


def status(code: int) -> Answer:
    return Answer(URL, code, b"body" if code < 300 else b"")


async def fetch(fetcher: GuardedFetcher | NothingInstalled, reference: str) -> Fetched | Missing:
    async with fetcher.open(reference) as fetched:
        return fetched


def fetcher_over(*answers: Answer | Refused | Unavailable, folder: Path | None = None) -> GuardedFetcher:
    limits = FetchLimits(bytes_max=100, bodies=2)
    return GuardedFetcher(Said(*answers), clock=JumpingClock(), folder=folder, limits=limits)


async def test_a_good_answer_is_a_body() -> None:
    assert await fetch(fetcher_over(status(200)), URL) == Fetched(b"body", URL)


@pytest.mark.parametrize("code", [401, 403, 404, 410])
async def test_what_the_server_does_not_give_is_absent_at_once(code: int) -> None:
    said = Said(status(code))
    assert await fetch(GuardedFetcher(said, clock=JumpingClock()), URL) == Missing("absent", f"status {code}")
    assert said.calls == 1


@pytest.mark.parametrize("answer", [status(500), status(429), status(400), Unavailable("cannot fetch")])
async def test_an_error_is_tried_twice_with_a_pause(answer: Answer | Unavailable) -> None:
    said, clock = Said(answer), JumpingClock()
    with pytest.raises(Unavailable):
        await fetch(GuardedFetcher(said, clock=clock), URL)
    assert (said.calls, clock.waits_ms) == (2, [1_000])


async def test_a_second_try_may_succeed() -> None:
    assert await fetch(fetcher_over(status(500), status(200)), URL) == Fetched(b"body", URL)


async def test_a_refusal_is_no_error() -> None:
    found = await fetch(fetcher_over(Refused("blocked_address", "leads inwards")), URL)
    assert found == Missing("blocked_address", "leads inwards")


@pytest.mark.parametrize(
    ("reference", "body"),
    [
        ("data:image/png;base64,AAEC", b"\0\1\2"),
        ("DATA:image/png;charset=x;BASE64,AA EC", b"\0\1\2"),
        ("data:image/png;base64,AAEC%0A", b"\0\1\2"),
        ("data:,a%20b", b"a b"),
    ],
)
async def test_inline_bytes_are_decoded(reference: str, body: bytes) -> None:
    assert await fetch(fetcher_over(status(500)), reference) == Fetched(body)


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("data:image/png;base64", "bad_reference"),
        ("data:image/png;base64,A", "bad_reference"),
        ("data:image/png;base64,\x00é", "bad_reference"),
        ("data:image/png;base64," + "A" * 136, "too_large"),
        ("data:image/png;base64," + "A" * 400, "too_large"),
        ("data:," + "a" * 101, "too_large"),
    ],
)
async def test_broken_inline_bytes_are_missing(reference: str, reason: str) -> None:
    found = await fetch(fetcher_over(status(500)), reference)
    assert isinstance(found, Missing)
    assert found.reason == reason


async def test_files_are_read_from_the_folder_that_was_set(tmp_path: Path) -> None:
    folder = tmp_path / "media"
    folder.mkdir()
    (folder / "a b.png").write_bytes(b"body")
    (folder / "large.png").write_bytes(b"x" * 101)
    (tmp_path / "secret").write_bytes(b"secret")
    (folder / "link.png").symlink_to(tmp_path / "secret")
    fetcher = fetcher_over(status(500), folder=folder)
    assert await fetch(fetcher, "file:a%20b.png") == Fetched(b"body", "a b.png")
    assert await fetch(fetcher, "file:///a%20b.png") == Fetched(b"body", "a b.png")
    refused = {
        "file:none.png": "absent",
        "file:": "absent",
        "file:large.png": "too_large",
        "file:../secret": "bad_reference",
        "file:%2e%2e/secret": "bad_reference",
        "file:link.png": "bad_reference",
        "file:a\0b": "bad_reference",
    }
    for reference, reason in refused.items():
        found = await fetch(fetcher, reference)
        assert isinstance(found, Missing), reference
        assert found.reason == reason, reference


async def test_without_a_folder_no_file_is_read() -> None:
    found = await fetch(fetcher_over(status(500)), "file:///etc/hostname")
    assert isinstance(found, Missing)
    assert found.reason == "bad_reference"


async def test_only_so_many_bodies_are_held_at_once() -> None:
    fetcher, held, most = fetcher_over(status(200)), 0, 0

    async def hold() -> None:
        nonlocal held, most
        async with fetcher.open(URL):
            held += 1
            most = max(most, held)
            await asyncio.sleep(0)
            held -= 1

    await asyncio.gather(*(hold() for _ in range(10)))
    assert most == 2


async def test_without_the_extra_every_picture_is_missing_with_the_way_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not_installed.is_media_installed()
    monkeypatch.setattr(not_installed, "PACKAGES", ("no_such_package",))
    assert not not_installed.is_media_installed()
    nothing = NothingInstalled()
    for found in (await fetch(nothing, URL), await nothing.read(b"")):
        assert isinstance(found, Missing)
        assert "pip install 'gristmill[media]'" in found.detail
