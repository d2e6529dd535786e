"""`gristmill doctor`: measure and judge what this installation stands on, before content is trusted to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.table import Table

from gristmill.adapters.clock import SystemClock
from gristmill.cli.app import EXIT_OK, EXIT_TROUBLE, EXIT_USAGE
from gristmill.cli.consoles import plain_console
from gristmill.cli.options import ConfigFile, StateDir, load
from gristmill.domain.upkeep.finding import Finding
from gristmill.runtime.doctor.examine import examine_all
from gristmill.runtime.loop import run_async

__all__ = ["doctor"]

HOUR_MS = 3_600_000
OUTAGE_HOURS = 24.0


def doctor(
    *,
    outage_hours: Annotated[
        float,
        Parameter(help="Longest time for which a group may stand still; brokers have to keep four times as much."),
    ] = OUTAGE_HOURS,
    postgres: Annotated[
        str,
        Parameter(help="Look at this database too: postgresql://user@host/name; PGPASSWORD.", show_default=False),
    ] = "",
    strict: Annotated[bool, Parameter(negative="", help="Take warnings for failures.")] = False,
    json: Annotated[bool, Parameter(negative="", help="Print JSON: a list of findings.")] = False,
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Measure and judge the disk, the host and the servers that the settings name: one line a check.

    `ok`; `warning`: it can be lived with, and the line says what it costs; `refused`: `gristmill up` would not start,
    or would lose what it has accepted. Nothing is changed.

    Exit code 0: nothing is refused. 1: there are warnings, with --strict. 2: something is refused.
    """
    settings = load(state=state, config=config).settings
    outage_ms = round(outage_hours * HOUR_MS)
    findings = run_async(examine_all(settings, SystemClock(), outage_ms=outage_ms, database=postgres))
    if json:
        print(msgspec.json.format(msgspec.json.encode(findings)).decode())
    else:
        _print_table(findings)
    verdicts = {finding.verdict for finding in findings}
    if "refused" in verdicts:
        return EXIT_USAGE
    return EXIT_TROUBLE if strict and "warning" in verdicts else EXIT_OK


def _print_table(findings: Sequence[Finding]) -> None:
    table = Table("check", "", "found", "next step", box=None, padding=(0, 2))
    for finding in findings:
        table.add_row(finding.check, finding.verdict, finding.found, finding.advice)
    plain_console().print(table)
