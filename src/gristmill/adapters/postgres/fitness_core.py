"""Whether a PostgreSQL database keeps what it confirms, judged by what it says of itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from gristmill.domain.upkeep.finding import Finding

__all__ = ["ASKED", "judge_database"]

VERSION_MIN = 14_00_00

ASKED = ("server_version_num", "synchronous_commit", "fsync", "full_page_writes", "transaction_read_only")
"""The settings that it is asked for."""


def judge_database(facts: Mapping[str, str]) -> list[Finding]:
    """Return what there is to say about a database, given its settings by name."""
    version = facts["server_version_num"]
    findings = [
        Finding("postgres version", "ok", version)
        if int(version) >= VERSION_MIN
        else Finding("postgres version", "refused", version, "use PostgreSQL 14 or newer")
    ]
    for name in ("synchronous_commit", "fsync"):
        advice = f"set {name} = on: a power failure would take back what was confirmed"
        is_off = facts[name] == "off"
        verdict = Finding(f"postgres {name}", "refused", "off", advice)
        findings.append(verdict if is_off else Finding(f"postgres {name}", "ok", facts[name]))
    if facts["full_page_writes"] == "off":
        advice = (
            "set full_page_writes = on, unless its disk never writes half a page: a power failure could spoil tables"
        )
        findings.append(Finding("postgres full_page_writes", "warning", "off", advice))
    if facts["transaction_read_only"] == "on":
        advice = "name the primary, or a user who may write"
        findings.append(Finding("postgres role", "refused", "read-only", advice))
    return findings
