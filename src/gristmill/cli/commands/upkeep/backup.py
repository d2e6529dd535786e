"""`gristmill backup` and `gristmill restore`: a state folder as one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gristmill.adapters.clock import SystemClock
from gristmill.cli.app import EXIT_OK
from gristmill.cli.consoles import plain_console
from gristmill.cli.copying import copy_bar
from gristmill.cli.options import ConfigFile, StateDir, state_folder
from gristmill.runtime.backup import restore_backup, take_backup
from gristmill.runtime.backup.manifest import BackupManifest

__all__ = ["backup", "restore"]


def backup(
    *,
    to: Annotated[Path, Parameter(help="File to write.")],
    force: Annotated[bool, Parameter(negative="", help="Replace a file of that name.")] = False,
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Write everything that the state folder keeps into one file; a group may go on working meanwhile.

    The file appears whole or not at all. It holds contents and hashes of tokens: keep it where only you can read it.
    """
    with copy_bar(plain_console(is_stderr=True)) as on_progress:
        taken = take_backup(
            state_folder(state, config), to, now_ms=SystemClock().now_ms(), is_forced=force, on_progress=on_progress
        )
    print(f"backup: {taken.path}, {taken.bytes} bytes, {_describe(taken.manifest)}")
    return EXIT_OK


def restore(
    *,
    from_: Annotated[Path, Parameter(name="--from", help="File that `gristmill backup` wrote.")],
    force: Annotated[bool, Parameter(negative="", help="Move what is in the state folder aside.")] = False,
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Make a state folder of a backup; `gristmill run` and `gristmill up` go on from where it was taken.

    Nothing is touched before the whole backup was found to be in order. Ids that may have been issued after it was
    taken are not issued again.
    """
    folder = state_folder(state, config)
    with copy_bar(plain_console(is_stderr=True)) as on_progress:
        restored = restore_backup(
            from_, folder, now_ms=SystemClock().now_ms(), is_forced=force, on_progress=on_progress
        )
    print(f"restored: {folder.path}, as of {restored.manifest.created_at}, {_describe(restored.manifest)}")
    if restored.freed:
        print(f"records that were under way and will be delivered again: {restored.freed}")
    if restored.aside is not None:
        print(f"what was there before: {restored.aside}")
    return EXIT_OK


def _describe(manifest: BackupManifest) -> str:
    counts = manifest.counts
    return f"{counts['items']} items, {counts['runs']} runs, schema {manifest.schema_version}"
