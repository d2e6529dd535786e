"""Starts groups the way settings want them: one process or many."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from gristmill.plans.registry import Registry
from gristmill.ports.clock import Clock
from gristmill.runtime.batch.run_input import Begun, RunReport, RunRequest, run_input
from gristmill.runtime.batch.work_off import OnProgress
from gristmill.runtime.composition.flows import flows_of
from gristmill.runtime.composition.stores import open_store
from gristmill.runtime.folder import StateFolder
from gristmill.runtime.group.lifecycle import Group, StopSignals
from gristmill.runtime.loop import run_async
from gristmill.runtime.settings import Settings
from gristmill.runtime.settings_log import LogSection
from gristmill.runtime.spec import GroupSpec

__all__ = ["make_group", "run_in_group"]


def run_in_group(
    request: RunRequest, settings: Settings, *, on_begin: Callable[[Begun], None], on_progress: OnProgress
) -> RunReport:
    """Run a file through a group of its own, with the log beside the state; see `run_input`.

    Raises:
        Unavailable: also where the disk of the state folder is full.
    """
    settings = msgspec.structs.replace(settings, log=LogSection())

    async def run() -> RunReport:
        signals = StopSignals()
        signals.install()
        return await run_input(
            request, settings, make_group=make_group, signals=signals, on_begin=on_begin, on_progress=on_progress
        )

    with StateFolder(Path(settings.main.state_dir)).naming_a_full_disk():
        return run_async(run())


def make_group(spec: GroupSpec, registry: Registry, clock: Clock) -> Group:
    """Return a group that is not started yet."""
    flows = flows_of(registry, spec.generators)
    if spec.settings.main.process_model == "single":
        from gristmill.runtime.group.single import SingleGroup

        return SingleGroup(spec, flows=flows, clock=clock, open_store=open_store)
    from gristmill.runtime.processes.group import ProcessGroup
    from gristmill.runtime.processes.launch import launch

    log_file = spec.settings.main.log_file
    return ProcessGroup(
        spec, flows=flows, clock=clock, launch=partial(launch, log_file=Path(log_file) if log_file else None)
    )
