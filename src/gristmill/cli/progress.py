"""What a person sees of a run: a bar while it works, a table when it has ended."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, get_args

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from gristmill.runtime.batch.feed import Progress as Progressed
from gristmill.runtime.batch.outcomes import Status
from gristmill.runtime.batch.report import STDOUT, Summary
from gristmill.runtime.folder import StateFolder

if TYPE_CHECKING:
    # At run time it would bring the counters, which must be set up first.
    from gristmill.runtime.batch.run_input import Begun, RunReport

__all__ = ["ProgressBar", "print_summary"]

ERRORS_SHOWN_MAX = 5


class ProgressBar:
    """A bar on a terminal; lines at the start and while nothing can be done elsewhere."""

    def __init__(self, console: Console, folder: StateFolder) -> None:
        self._console = console
        self._folder = folder
        self._is_disk_full = False
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._progress.add_task("starting", total=None)

    def __enter__(self) -> ProgressBar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def on_begin(self, begun: Begun) -> None:
        """Say how it begins."""
        plans = ", ".join(begun.plans)
        if begun.is_finished:
            self._say(f"this input is finished: {begun.found} records, plan {plans}; --fresh starts over")
        elif begun.found:
            self._say(f"an earlier run was interrupted: going on, plan {plans}")
        self._progress.update(self._task, description=plans)

    def on_progress(self, progress: Progressed, total: int | None) -> None:
        """Move the bar, and say why it stands still where the disk is full: everybody waits for room then."""
        if self._folder.is_disk_full != self._is_disk_full:
            self._is_disk_full = not self._is_disk_full
            waits = f"disk of the state folder {self._folder.path} is full: free space and it goes on, nothing is lost"
            self._say(waits if self._is_disk_full else "there is room on the disk again: going on")
        waiting = f" ({progress.waiting} wait to be tried again)" if progress.waiting else ""
        self._progress.update(self._task, completed=progress.ended, total=total)
        if waiting:
            self._progress.update(self._task, description=f"retrying{waiting}")

    def _say(self, text: str) -> None:
        self._console.print(text, style="dim")


def print_summary(console: Console, report: RunReport, *, output: Path | None, log_file: str) -> None:
    """Print what came of a run and what to do next."""
    summary = report.summary
    if summary is None:
        console.print("interrupted; the same command goes on from here")
        return
    console.print(_table(summary, report))
    for error, count in summary.errors.most_common(ERRORS_SHOWN_MAX):
        console.print(f"  {count} x {error}")
    if len(summary.errors) > ERRORS_SHOWN_MAX:
        console.print(f"  and {len(summary.errors) - ERRORS_SHOWN_MAX} other reasons")
    if output is not None and output != STDOUT:
        console.print(f"output: {output}")
    if summary.statuses["quarantined"]:
        console.print("`gristmill dlq quarantine` lists the records that never became an item")
    if summary.statuses["failed"]:
        console.print(f"`gristmill explain ID` tells more about a record that failed; log: {log_file}")


def _table(summary: Summary, report: RunReport) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2))
    table.add_column(justify="left")
    table.add_column(justify="right")
    table.add_row("records", f"{summary.item_count:,}")
    for status in get_args(Status):
        if summary.statuses[status] or status == "done":
            table.add_row(f"  {status}", f"{summary.statuses[status]:,}")
    if summary.labels:
        table.add_row("labels", "")
    for label, count in summary.labels.most_common():
        table.add_row(f"  {label}", f"{count:,}")
    table.add_row("seconds", f"{report.seconds:.1f}")
    if report.worked:
        table.add_row("records a second", f"{report.worked / max(report.seconds, 1e-9):,.0f}")
    return table
