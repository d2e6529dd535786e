"""What a person sees while a large file is written: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

__all__ = ["CopyBar"]


class CopyBar:
    """A bar that says what is done now, and how much of it."""

    def __init__(self, console: Console) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._progress.add_task("starting", total=None)

    def __enter__(self) -> CopyBar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def on_progress(self, what: str, done: int, total: int) -> None:
        """Move the bar."""
        self._progress.update(self._task, description=what, completed=done, total=total)
