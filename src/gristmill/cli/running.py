"""What `run` and `demo` share: a locked state folder, counters, a log, and the run itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gristmill.cli.consoles import plain_console
from gristmill.cli.options import folder_of
from gristmill.cli.progress import ProgressBar
from gristmill.intake.fields import FieldMap
from gristmill.runtime.folder import GroupLock
from gristmill.runtime.settings_sources import LoadedSettings
from gristmill.runtime.telemetry import clear_metrics, configure_logging, prepare_metrics

if TYPE_CHECKING:
    # At run time it would bring the counters, which must be set up first.
    from gristmill.runtime.batch.run_input import RunReport

__all__ = ["run_locked"]


def run_locked(
    loaded: LoadedSettings,
    *,
    input: Path,
    output: Path | None,
    plans: tuple[str, ...] = (),
    flow_files: tuple[str, ...] = (),
    fields: FieldMap | None = None,
    source: Path | None = None,
    is_fresh: bool = False,
) -> RunReport:
    """Run a file in the state folder of the settings, and log into that folder unless another file is set.

    Raises:
        UsageError: somebody works in that folder, or the call is wrong.
    """
    folder = folder_of(loaded.settings)
    folder.prepare()
    settings = loaded.with_default("main.log_file", str(folder.log_file), origin="default of this command").settings
    lock = GroupLock(folder, purpose="gristmill run")
    try:
        prepare_metrics(folder.metrics_dir)
        clear_metrics(folder.metrics_dir)
        # What is imported from here on counts into that folder.
        from gristmill.runtime.batch.run_input import RunRequest
        from gristmill.runtime.group.launching import run_in_group

        configure_logging("main", level=settings.main.log_level, file=Path(settings.main.log_file))
        request = RunRequest(
            input=input,
            plans=plans,
            flow_files=flow_files,
            fields=fields or FieldMap(),
            source=source,
            output=output,
            is_fresh=is_fresh,
        )
        with ProgressBar(plain_console(is_stderr=True), folder) as bar:
            return run_in_group(request, settings, on_begin=bar.on_begin, on_progress=bar.on_progress)
    finally:
        lock.close()
