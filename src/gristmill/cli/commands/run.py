"""`gristmill run`: a file in, one line for each of its records out."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gristmill.cli.app import EXIT_FAULTY, EXIT_INTERRUPTED, EXIT_OK
from gristmill.cli.consoles import plain_console
from gristmill.cli.options import ConfigFile, FlowFiles, MapTexts, PlanKeys, StateDir, as_texts, folder_of, load
from gristmill.cli.progress import print_summary
from gristmill.cli.running import run_locked
from gristmill.domain.errors import UsageError
from gristmill.intake.fields import parse_field_map
from gristmill.runtime.batch.report import STDOUT
from gristmill.runtime.folder import StateFolder
from gristmill.runtime.settings_sources import RUN_DEFAULTS

__all__ = ["run"]

CHUNK_BYTES = 1024 * 1024
ENGINES_MAX = 4
SMALL_BYTES = 512 * 1024
"""A second engine takes longer to start than a file of this size takes to be worked off."""


def run(
    *,
    input: Annotated[
        Path,
        Parameter(help="JSONL or CSV, plain or gzip, or Parquet; - reads standard input.", allow_leading_hyphen=True),
    ],
    plan: PlanKeys = (),
    flow: FlowFiles = (),
    map: MapTexts = (),
    source: Annotated[
        Path | None,
        Parameter(help="Source file (YAML) that maps the records, instead of --map.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        Parameter(help="JSONL file, a line for each record in input order; - prints.", allow_leading_hyphen=True),
    ] = None,
    state: StateDir = None,
    fresh: Annotated[bool, Parameter(negative="", help="Start over with this input.")] = False,
    engines: Annotated[
        int | None,
        Parameter(help="Engine processes. [default: one a core, at most 4; 1 for a small file]", show_default=False),
    ] = None,
    config: ConfigFile = None,
) -> int:
    """Work off a file: labels and scores for each of its lines.

    A run that was interrupted goes on where it stopped; one that is finished writes its output again. Without --plan
    the plan is `screen`, or the only plan of the --flow file.

    Exit code 0: all done. 3: done, but records failed or are in quarantine. 2: the call is wrong. 130: interrupted.
    """
    for name, path in (("--input", input), ("--output", output)):
        if str(path).startswith("--"):
            raise UsageError(f"{name} needs a file", value=str(path), advice="give a path, or -")
    defaults = {**RUN_DEFAULTS, "engine.count": _count_engines(input)}
    loaded = load(state=state, config=config, flags={"engine.count": engines}, defaults=defaults)
    folder = folder_of(loaded.settings)
    folder.prepare()
    report = run_locked(
        loaded,
        input=input if str(input) != "-" else _spool_stdin(folder),
        output=output,
        plans=plan,
        flow_files=as_texts(flow),
        fields=parse_field_map(map),
        source=source,
        is_fresh=fresh,
    )
    console = plain_console(is_stderr=output == STDOUT)
    print_summary(console, report, output=output, log_file=loaded.settings.main.log_file or str(folder.log_file))
    if report.summary is None:
        return EXIT_INTERRUPTED
    return EXIT_OK if report.summary.is_clean else EXIT_FAULTY


def _count_engines(input: Path) -> int:
    is_small = input.is_file() and input.stat().st_size < SMALL_BYTES
    return 1 if is_small else min(ENGINES_MAX, os.cpu_count() or 1)


def _spool_stdin(folder: StateFolder) -> Path:
    """Keep standard input as a file, so that an interrupted run can go on with it; equal input is one file."""
    folder.inputs_dir.mkdir(parents=True, exist_ok=True)
    digest = hashlib.blake2b(digest_size=8)
    unfinished = folder.inputs_dir / f".stdin.{os.getpid()}.part"
    try:
        with unfinished.open("wb") as file:
            while chunk := sys.stdin.buffer.read(CHUNK_BYTES):
                digest.update(chunk)
                file.write(chunk)
        path = folder.inputs_dir / f"stdin-{digest.hexdigest()}"
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path
