"""What measured facts of a host mean for the promises. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from gristmill.domain.upkeep.finding import Finding, Verdict

__all__ = [
    "judge_clock",
    "judge_extra",
    "judge_filesystem",
    "judge_open_files",
    "judge_skew",
    "judge_space",
    "judge_synchronous",
    "judge_syncs",
    "judge_version",
]

SYNC_US_MAX = 2_000
"""Beyond this, engines that take turns at the store fall behind what one of them could do: each turn waits for it."""

FREE_BYTES_MIN = 1024 * 1024
FREE_BYTES_FEW = 1024 * 1024 * 1024
OPEN_FILES_MIN = 256
OPEN_FILES_FEW = 1_024
DRIFT_MS_MAX = 100
SKEW_MS_MAX = 2_000
BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def judge_syncs(name: str, times_us: Sequence[int]) -> Finding:
    """Judge how long syncs of one kind took, in microseconds."""
    ordered = sorted(times_us)
    median, worst = ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    found = f"median {median / 1_000:.2f} ms, p99 {worst / 1_000:.2f} ms of {len(ordered)} syncs"
    if median > SYNC_US_MAX:
        advice = (
            "above 2 ms: every commit waits for it, and engines take turns at the store; put main.state_dir on a disk "
            "that syncs faster, and keep engine.count = 1 until then"
        )
        return Finding(name, "warning", found, advice)
    return Finding(name, "ok", found)


def judge_space(free_bytes: int) -> Finding:
    """Judge the room on the disk of the state folder."""
    check, found = "free space", _show_bytes(free_bytes)
    if free_bytes < FREE_BYTES_MIN:
        return Finding(check, "refused", found, "free space: nothing can be committed")
    if free_bytes < FREE_BYTES_FEW:
        advice = "free space, or have less kept: `gristmill retention` shows what each table holds"
        return Finding(check, "warning", found, advice)
    return Finding(check, "ok", found)


def judge_filesystem(kind: str, *, is_network: bool) -> Finding:
    """Judge the file system of the state folder; `kind` is empty where the system does not tell."""
    if is_network:
        advice = "put main.state_dir on a disk of this host: locks and shared memory do not reach other hosts"
        return Finding("file system", "refused", kind, advice)
    if kind in ("tmpfs", "ramfs"):
        advice = "put main.state_dir on a disk: all of it is gone when this host starts anew"
        return Finding("file system", "warning", kind, advice)
    return Finding("file system", "ok", kind or "unknown")


def judge_open_files(limit: int) -> Finding:
    """Judge how many files and connections a process may have open."""
    check, found = "open files", str(limit)
    if limit < OPEN_FILES_MIN:
        return Finding(check, "refused", found, f"raise it: ulimit -n {OPEN_FILES_FEW}, or LimitNOFILE= of the unit")
    if limit < OPEN_FILES_FEW:
        advice = f"raise it: ulimit -n {OPEN_FILES_FEW}; each client of the API and each event stream takes one"
        return Finding(check, "warning", found, advice)
    return Finding(check, "ok", found)


def judge_clock(*, drift_ms: int, behind_ms: int) -> Finding:
    """Judge the wall clock.

    Args:
        drift_ms: how far it moved against steady time while it was watched.
        behind_ms: how far it is behind the time at which the store was last written; 0 or less where it is not.
    """
    advice = "have the clock slewed, not set (chrony, systemd-timesyncd): times of items and delays follow it"
    if behind_ms > DRIFT_MS_MAX:
        return Finding("clock", "warning", f"{behind_ms} ms behind the last write of the store", advice)
    if abs(drift_ms) > DRIFT_MS_MAX:
        return Finding("clock", "warning", f"moved by {drift_ms} ms while it was watched", advice)
    return Finding("clock", "ok", "steady")


def judge_skew(server: str, skew_ms: int) -> Finding:
    """Judge how far the clock of a server is ahead of ours."""
    found = f"{skew_ms:+d} ms"
    if abs(skew_ms) > SKEW_MS_MAX:
        advice = "set both clocks by NTP: leases keep to the server's, delays and times of items to this host's"
        return Finding(f"clock of {server}", "warning", found, advice)
    return Finding(f"clock of {server}", "ok", found)


def judge_synchronous(mode: str) -> Finding:
    """Judge what a commit of the embedded store is worth."""
    if mode != "FULL":
        advice = "power loss can take the last commits; a killed process takes none. FULL keeps them"
        return Finding("store.synchronous", "warning", mode, advice)
    return Finding("store.synchronous", "ok", mode)


def judge_version(name: str, version: tuple[int, ...], least: tuple[int, ...]) -> Finding:
    """Judge the version of something that is needed."""
    found = ".".join(map(str, version))
    if version[: len(least)] < least:
        return Finding(name, "refused", found, f"use {'.'.join(map(str, least))} or newer")
    return Finding(name, "ok", found)


def judge_extra(name: str, *, is_installed: bool, needed_for: str, must: bool) -> Finding:
    """Judge an extra that settings ask for; `must` where nothing starts without it."""
    if is_installed:
        return Finding(f"extra {name}", "ok", "installed")
    verdict: Verdict = "refused" if must else "warning"
    return Finding(f"extra {name}", verdict, "missing", f"pip install 'gristmill[{name}]': {needed_for}")


def _show_bytes(count: int) -> str:
    size = float(count)
    for unit in BYTE_UNITS[:-1]:
        if size < 1024:
            return f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} {BYTE_UNITS[-1]}"
