"""Writes one call's commits in one turn, few statements for many runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from operator import attrgetter

from gristmill.adapters.packing import pack
from gristmill.adapters.sqlite.file.rows import write_rows
from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.adapters.sqlite.log.settling import drop_leases
from gristmill.adapters.sqlite.state.guards import decide_outcomes
from gristmill.adapters.sqlite.state.identities import INSERT_IDS, MAPPING_WIDTH
from gristmill.adapters.sqlite.state.packed import Layout, PackedCommits, PackedRun, lay_out
from gristmill.adapters.sqlite.state.repeating import find_known_runs, replace_run
from gristmill.adapters.sqlite.state.sharing import contribute
from gristmill.domain.commit import CommitOutcome, Quarantine

__all__ = ["write_commits"]

INSERT_RUNS = """
INSERT INTO run(generator_id, is_open, run_id, item_id, position, status, body)
SELECT ?1, ?2, * FROM {rows} WHERE true ON CONFLICT DO NOTHING
"""
INSERT_ITEMS = """
INSERT OR IGNORE INTO item(item_id, revision, body) SELECT * FROM {rows}
"""
RAISE_ITEMS = """
INSERT INTO item(item_id, revision, body) SELECT * FROM {rows} WHERE true
ON CONFLICT DO UPDATE SET revision = excluded.revision, body = excluded.body WHERE excluded.revision > item.revision
"""
INSERT_EVENTS = """
INSERT INTO event(item_id, body) SELECT * FROM {rows}
"""
INSERT_EFFECTS = """
INSERT OR IGNORE INTO effect(run_id, task, sink, mode, body) SELECT * FROM {rows}
"""
INSERT_QUARANTINE = """
INSERT INTO quarantine(generator, position, source, source_revision, reason, at_ms, violations, raw)
VALUES(?, ?, ?, ?, ?, ?, ?, ?)
"""
IS_QUARANTINED = "SELECT EXISTS(SELECT 1 FROM quarantine WHERE position = ? AND generator = ?)"
COUNT = """
INSERT INTO tally SELECT * FROM {rows} WHERE true ON CONFLICT DO UPDATE SET value = value + excluded.value
"""

_status_of = attrgetter("commit.status")


def write_commits(turn: Turn, packed: PackedCommits) -> list[CommitOutcome]:
    """Check the guards, then write everything that passed them."""
    outcomes, has_written_ids = decide_outcomes(turn, packed)
    runs = packed.written_runs(outcomes)
    quarantines = packed.quarantines(outcomes)
    counted: Counter[str] = Counter()
    if runs:
        layout = packed.layout if packed.layout and len(runs) == len(packed.runs) else lay_out(runs)
        if not has_written_ids:
            write_rows(turn.db, INSERT_IDS, layout.new_ids, width=MAPPING_WIDTH)
        counted["items"] += _write_items(turn, layout)
        _write_runs(turn, runs, layout, counted)
        contribute(turn, runs)
    if quarantines:
        if packed.is_log_apart:
            # The record may come again after this commit and before its acceptance.
            quarantines = [one for one in quarantines if not turn.db.execute(IS_QUARANTINED, _place_of(one)).get]
        _write_quarantines(turn, quarantines)
        counted["quarantined"] += len(quarantines)
    if not packed.is_log_apart:
        _accept(turn, runs, quarantines)
    write_rows(turn.db, COUNT, list(chain.from_iterable(counted.items())), width=2)
    return outcomes


def _write_items(turn: Turn, layout: Layout) -> int:
    """Keep the newest revision of each item and return how many items are new."""
    inserted = write_rows(turn.db, INSERT_ITEMS, layout.items, width=3)
    if inserted < len(layout.items) // 3:
        write_rows(turn.db, RAISE_ITEMS, layout.items, width=3)
    return inserted


def _write_runs(turn: Turn, runs: Sequence[PackedRun], layout: Layout, counted: Counter[str]) -> None:
    """Insert runs with their events and effects; those that were committed before are replaced instead."""
    inserted = _insert_runs(turn, layout)
    new: Sequence[PackedRun] = runs
    repeated: list[PackedRun] = []
    if inserted < len(runs):
        known = find_known_runs(turn, runs, newest=inserted)
        new = []
        for run in runs:
            (repeated if run.commit.run_id in known else new).append(run)
            known.add(run.commit.run_id)
        layout = lay_out(new)
    write_rows(turn.db, INSERT_EVENTS, layout.events, width=2)
    write_rows(turn.db, INSERT_EFFECTS, layout.effects, width=5)
    for run in repeated:
        counted.update(replace_run(turn, run))
    counted["runs"] += len(new)
    for status, count in Counter(map(_status_of, new)).items():
        counted[f"runs.{status}"] += count


def _insert_runs(turn: Turn, layout: Layout) -> int:
    inserted = 0
    for (generator, is_open), rows in layout.runs.items():
        constants = (turn.names.generator(generator), is_open)
        inserted += write_rows(turn.db, INSERT_RUNS, rows, width=5, constants=constants)
    return inserted


def _write_quarantines(turn: Turn, quarantines: Sequence[Quarantine]) -> None:
    rows = [
        (
            one.generator,
            one.position,
            one.source,
            one.source_revision,
            one.reason,
            one.at_ms,
            pack(one.violations),
            one.raw,
        )
        for one in quarantines
    ]
    turn.db.executemany(INSERT_QUARANTINE, rows)


def _place_of(quarantine: Quarantine) -> tuple[int, str]:
    return quarantine.position, quarantine.generator


def _accept(turn: Turn, runs: Sequence[PackedRun], quarantines: Sequence[Quarantine]) -> None:
    leases = [run.commit.lease for run in runs if run.commit.accept and run.commit.lease is not None]
    leases += [one.lease for one in quarantines if one.lease is not None]
    drop_leases(turn, leases)
