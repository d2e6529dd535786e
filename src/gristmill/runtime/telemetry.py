"""Logs and counters of a process, and the counters of all of them together.

Counters of several processes meet in the files of one folder. The client library looks for that folder once, when it is
imported: so `prepare_metrics` comes before anything that imports it, and this module imports it late.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any, TextIO

import msgspec

from gristmill.domain.errors import UsageError

__all__ = ["clear_metrics", "configure_logging", "forget_process", "prepare_metrics", "render_metrics"]

METRICS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


def prepare_metrics(folder: Path) -> None:
    """Make this process and its children count into the files of a folder.

    Raises:
        UsageError: the client library was imported before, so it would count elsewhere.
    """
    if "prometheus_client" in sys.modules and os.environ.get(METRICS_VARIABLE) != str(folder):
        raise UsageError("counters were set up before", value=str(folder), advice="call prepare_metrics first")
    folder.mkdir(parents=True, exist_ok=True)
    os.environ[METRICS_VARIABLE] = str(folder)


def clear_metrics(folder: Path) -> None:
    """Start all counters at none; only while no process of the group lives."""
    for file in folder.glob("*.db"):
        file.unlink(missing_ok=True)


def forget_process(pid: int) -> None:
    """Take back gauges of a process that has died; what it counted stays. Does nothing where nobody counts."""
    if METRICS_VARIABLE not in os.environ:
        return
    from prometheus_client import multiprocess

    multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]


def render_metrics(folder: Path) -> str:
    """Return the counters of all processes as a scrape.

    Raises:
        UsageError: no group has run on this state folder.
    """
    if not folder.is_dir() or not any(folder.glob("*.db")):
        raise UsageError("no counters in", value=str(folder), advice="start a group with `gristmill up`")
    from prometheus_client import CollectorRegistry, generate_latest, multiprocess

    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry, path=str(folder))  # type: ignore[no-untyped-call]
    return generate_latest(registry).decode()


def configure_logging(process: str, *, level: str, file: Path | None) -> None:
    """Log JSON lines with the name of the process, to a file or to standard error."""
    import structlog

    stream: TextIO = file.open("a", buffering=1, encoding="utf-8") if file is not None else sys.stderr

    def render(_logger: object, _name: str, event: Any) -> str:
        return msgspec.json.encode(event, enc_hook=repr).decode()

    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            lambda _logger, _name, event: {**event, "process": process},
            render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(stream),
        cache_logger_on_first_use=True,
    )
