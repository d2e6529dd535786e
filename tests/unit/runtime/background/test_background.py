"""Background services go on whatever becomes of a run, and say how it goes."""

import asyncio
import sys
from pathlib import Path

import pytest

from gristmill.domain.errors import ConfigError, Unavailable
from gristmill.runtime.background import BackgroundService, Rhythm
from gristmill.runtime.background.credentials import CredentialRenewal
from gristmill.runtime.background.rhythm_core import Beat
from gristmill.testing.clock import FakeClock


def test_a_rhythm_pauses_shortly_between_attempts_and_long_after_the_last() -> None:
    beat = Beat(Rhythm(interval_ms=100, attempts=3, retry_interval_ms=7))
    assert [beat.on_failure() for _ in range(4)] == [(7, False), (7, False), (100, True), (7, False)]
    assert (beat.on_success(), beat.attempt) == (100, 1)


@pytest.mark.parametrize("field", ["interval_ms", "attempts", "retry_interval_ms"])
def test_a_rhythm_without_time_is_refused(field: str) -> None:
    with pytest.raises(ConfigError, match=field):
        Rhythm(**{field: 0})


async def test_a_service_tells_how_it_goes() -> None:
    clock = FakeClock()
    fails = True
    told: list[int] = []

    async def work() -> None:
        if fails:
            raise Unavailable("no ticket")

    service = BackgroundService("tickets", work, rhythm=Rhythm(), clock=clock, on_success=told.append)
    await service.start()
    await service.start()
    await clock.somebody_waits()
    assert (service.status.is_running, service.status.runs, service.health.reasons) == (True, 1, ("no ticket",))
    fails = False
    clock.advance(60_000)
    for _ in range(5):
        await asyncio.sleep(0)
    assert (service.status.runs, service.health.reasons, told) == (2, (), [clock.now_ms()])
    await service.stop()
    await service.stop()
    assert not service.status.is_running


async def test_a_command_renews_and_its_output_is_kept_for_its_owner(tmp_path: Path) -> None:
    token = tmp_path / "token"
    renewal = CredentialRenewal([sys.executable, "-c", "print('secret')"], token_file=str(token))
    await renewal.run_once()
    await renewal.run_once()
    assert (token.read_text(encoding="utf-8"), token.stat().st_mode & 0o777) == ("secret\n", 0o600)


@pytest.mark.parametrize(
    "command", [("false",), ("/nowhere/program",), (sys.executable, "-c", "pass")], ids=["fails", "missing", "silent"]
)
async def test_a_renewal_that_fails_leaves_the_token_alone(tmp_path: Path, command: tuple[str, ...]) -> None:
    token = tmp_path / "token"
    token.write_text("old", encoding="utf-8")
    with pytest.raises(Unavailable):
        await CredentialRenewal(command, token_file=str(token)).run_once()
    assert token.read_text(encoding="utf-8") == "old"


def test_a_renewal_needs_its_key_file_and_a_command() -> None:
    with pytest.raises(ConfigError, match="key_file"):
        CredentialRenewal(["true"], key_file="/nowhere/keytab")
    with pytest.raises(ConfigError, match="command"):
        CredentialRenewal([])
