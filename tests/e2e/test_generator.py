"""`gristmill generator` beside a group that runs: it obeys at once, and still does after a restart."""

import signal
from pathlib import Path

from tests.commands import SLOW_FLOW, open_records, put, run, serves, started, wait_until, write

LAG = 'gristmill_lag_undelivered{group="slow",topic="slow"} 1.0'


async def test_a_pause_holds_at_once_outlives_a_restart_and_ends_with_resume(tmp_path: Path) -> None:
    flow, state, starts = write(tmp_path / "slow_flow.py", SLOW_FLOW), tmp_path / "state", tmp_path / "starts"
    options = ("--flow", flow, "--state", state)
    with started("up", *options) as process:
        await put(state, "slow", ["0"])
        wait_until(starts.exists, "the first record")
        paused = run("generator", "pause", "slow", "--reason", "the judge is down", *options)
        assert (paused.returncode, paused.stdout) == (0, "generator slow: paused: the judge is down\n"), paused.stderr
        wait_until(lambda: "paused" in run("generator", "list", *options).stdout, "paused")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    await put(state, "slow", ["0"])
    with started("up", *options):
        wait_until(lambda: serves(state), "serving")
        wait_until(lambda: LAG in run("metrics", "--state", state).stdout, "the lag of the paused group, told")
        assert await open_records(state, "slow") == 1
        shown = run("generator", "show", "slow", *options).stdout
        assert "paused: the judge is down" in shown
        assert "topic slow partition 0: at 1 of 2, not handed out 1" in shown
        assert run("generator", "resume", "slow", *options).stdout == "generator slow: open\n"
        wait_until(lambda: len(starts.read_text(encoding="utf-8").split()) == 2, "the second record")


async def test_a_seek_is_only_counted_until_somebody_says_yes(tmp_path: Path) -> None:
    flow, state = write(tmp_path / "slow_flow.py", SLOW_FLOW), tmp_path / "state"
    options = ("--flow", flow, "--state", state)
    await put(state, "slow", ["0", "0"])
    asked = run("generator", "seek", "slow", "--to", "now", *options)
    assert asked.stdout.startswith("come again: 0, skipped: 2, under way: 0\nnothing was changed"), asked.stderr
    assert await open_records(state, "slow") == 2
    assert run("generator", "seek", "slow", "--to", "now", "--yes", *options).returncode == 0
    assert await open_records(state, "slow") == 0
    assert "moved to now of slow: 0 again, 2 skipped" in run("generator", "show", "slow", *options).stdout


def test_what_means_nothing_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    flow, state = write(tmp_path / "slow_flow.py", SLOW_FLOW), tmp_path / "state"
    options = ("--flow", flow, "--state", state)
    unknown = run("generator", "pause", "slwo", "--reason", "x", *options)
    assert (unknown.returncode, "'slow'" in unknown.stderr) == (2, True)
    assert run("generator", "seek", "slow", "--to", "soon", *options).returncode == 2
