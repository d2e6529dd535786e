"""`gristmill up`: the process group, until a signal asks it to stop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gristmill.cli.app import EXIT_OK
from gristmill.cli.options import ConfigFile, FlowFiles, PlanKeys, StateDir, as_texts, load
from gristmill.runtime.folder import GroupLock, StateFolder
from gristmill.runtime.telemetry import clear_metrics, configure_logging, prepare_metrics

__all__ = ["up"]


def up(
    *,
    topic: Annotated[
        str | None, Parameter(help="Serve this topic alone, with the plans given.", show_default=False)
    ] = None,
    plan: PlanKeys = (),
    source: Annotated[
        str, Parameter(help="Published Source that maps the records of that topic.", show_default=False)
    ] = "",
    flow: FlowFiles = (),
    state: StateDir = None,
    engines: Annotated[int | None, Parameter(help="Engine processes. [default: 1]", show_default=False)] = None,
    config: ConfigFile = None,
) -> int:
    """Start the process group over the topics of its generators.

    SIGTERM or SIGINT ends it: records under way are finished first. A second signal hurries.

    Exit code 0: stopped as asked. 1: a process died too often. 2: it could not start.
    """
    loaded = load(state=state, config=config, flags={"engine.count": engines})
    section = loaded.settings.main
    folder = StateFolder(Path(section.state_dir))
    folder.prepare()
    lock = GroupLock(folder, purpose="gristmill up")
    try:
        prepare_metrics(folder.metrics_dir)
        clear_metrics(folder.metrics_dir)
        # What is imported from here on counts into that folder.
        from gristmill.runtime.group.serving import serve_topics

        configure_logging("main", level=section.log_level, file=Path(section.log_file) if section.log_file else None)
        serve_topics(loaded, flow_files=as_texts(flow), topic=topic, plans=plan, source=source)
    finally:
        lock.close()
    return EXIT_OK
