"""Whether a log can live on a Redis server, judged by what the server says of itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from gristmill.domain.upkeep.finding import Finding

__all__ = ["judge_server"]

VERSION_MIN = (7, 0)


def judge_server(facts: Mapping[str, str], *, fsync_policy: str | None, is_ephemeral: bool) -> list[Finding]:
    """Return what there is to say about a server, the worst first.

    Args:
        facts: the answer to INFO, by name.
        fsync_policy: `appendfsync`; None where the server does not tell.
        is_ephemeral: somebody has said that records may be lost when the server starts anew.
    """
    findings = [
        _judge_version(facts.get("redis_version", "0")),
        _judge_role(facts),
        _judge_eviction(facts.get("maxmemory_policy", "noeviction")),
        *_judge_file(facts.get("aof_enabled") == "1", fsync_policy, is_ephemeral=is_ephemeral),
    ]
    order = {"refused": 0, "warning": 1, "ok": 2}
    return sorted(findings, key=lambda finding: order[finding.verdict])


def _judge_version(version: str) -> Finding:
    numbers = tuple(int(part) if part.isdecimal() else 0 for part in version.split(".")[:2])
    if numbers < VERSION_MIN:
        return Finding("redis version", "refused", version, f"use {'.'.join(map(str, VERSION_MIN))} or newer")
    return Finding("redis version", "ok", version)


def _judge_role(facts: Mapping[str, str]) -> Finding:
    if facts.get("cluster_enabled") == "1":
        advice = "use one server with replicas; a step that touches two topics cannot be made in a cluster"
        return Finding("redis role", "refused", "cluster", advice)
    if facts.get("role") == "slave":
        return Finding("redis role", "refused", "replica", "set log.url to the primary")
    return Finding("redis role", "ok", "primary")


def _judge_eviction(policy: str) -> Finding:
    if policy != "noeviction":
        advice = "set maxmemory-policy noeviction: with another one records vanish when memory is short"
        return Finding("redis maxmemory-policy", "refused", policy, advice)
    return Finding("redis maxmemory-policy", "ok", policy)


def _judge_file(is_written: bool, fsync_policy: str | None, *, is_ephemeral: bool) -> list[Finding]:
    if not is_written:
        advice = "set appendonly yes; without it a restart of the server loses accepted records"
        if is_ephemeral:
            return [Finding("redis appendonly", "warning", "no", f"{advice}, as log.ephemeral allows")]
        return [Finding("redis appendonly", "refused", "no", f"{advice}; log.ephemeral = true bears that")]
    written = Finding("redis appendonly", "ok", "yes")
    match fsync_policy:
        case "always":
            return [written, Finding("redis appendfsync", "ok", "always")]
        case "everysec":
            advice = "power loss can take the last second of accepted records; appendfsync always keeps them"
        case "no":
            advice = "power loss can take what the system has not written yet, up to half a minute; set always"
        case _:
            advice = "the server does not tell; see to it that it is always, or power loss can take accepted records"
    return [written, Finding("redis appendfsync", "warning", fsync_policy or "unknown", advice)]
