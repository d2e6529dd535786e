"""Writes one call's commits in one turn, few statements for many runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gristmill.adapters.packing import pack
from gristmill.adapters.sqlite.file.rows import Slab, to_json
from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.adapters.sqlite.log.settling import drop_leases
from gristmill.adapters.sqlite.state.guards import COMMITTED, decide_outcomes
from gristmill.adapters.sqlite.state.packed import STATUSES, PackedCommits, PackedRun
from gristmill.adapters.sqlite.state.repeating import find_known_runs, replace_run
from gristmill.adapters.sqlite.state.sharing import contribute
from gristmill.domain.commit import CommitOutcome, Quarantine
from gristmill.domain.ids import ItemId
from gristmill.domain.item import Item

__all__ = ["write_commits"]

INSERT_RUNS = """
INSERT INTO run(run_id, item_id, generator_id, position, status, body)
SELECT unhex(value ->> 0), value ->> 1, value ->> 2, value ->> 3, value ->> 4, substr(?2, value ->> 5, value ->> 6)
FROM json_each(?1)
"""
INSERT_ITEMS = """
INSERT OR IGNORE INTO item(item_id, revision, body)
SELECT value ->> 0, value ->> 1, substr(?2, value ->> 2, value ->> 3) FROM json_each(?1)
"""
RAISE_ITEMS = """
INSERT INTO item(item_id, revision, body)
SELECT value ->> 0, value ->> 1, substr(?2, value ->> 2, value ->> 3) FROM json_each(?1) WHERE true
ON CONFLICT DO UPDATE SET revision = excluded.revision, body = excluded.body WHERE excluded.revision > item.revision
"""
INSERT_IDS = "INSERT OR IGNORE INTO id_map SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?1)"
INSERT_EVENTS = """
INSERT INTO event(item_id, body) SELECT value ->> 0, substr(?2, value ->> 1, value ->> 2) FROM json_each(?1)
"""
INSERT_EFFECTS = """
INSERT OR IGNORE INTO effect(run_id, task, sink, mode, body)
SELECT unhex(value ->> 0), value ->> 1, value ->> 2, value ->> 3, substr(?2, value ->> 4, value ->> 5)
FROM json_each(?1)
"""
INSERT_QUARANTINE = """
INSERT INTO quarantine(generator, position, source, reason, at_ms, violations, raw) VALUES(?, ?, ?, ?, ?, ?, ?)
"""
COUNT = "INSERT INTO tally VALUES(?1, ?2) ON CONFLICT DO UPDATE SET value = value + excluded.value"


def write_commits(turn: Turn, packed: PackedCommits) -> list[CommitOutcome]:
    """Check the guards, then write everything that passed them."""
    outcomes = decide_outcomes(turn, packed)
    written = [index for index, outcome in enumerate(outcomes) if outcome is COMMITTED]
    counted: Counter[str] = Counter()
    runs = [packed.runs[index] for index in written if index in packed.runs]
    if runs:
        _write_items(turn, [run.commit.item for run in runs], [run.item for run in runs], counted)
        _write_ids(turn, runs)
        _write_runs(turn, runs, counted)
        contribute(turn, runs)
    quarantines = [packed.quarantines[index] for index in written if index in packed.quarantines]
    if quarantines:
        _write_quarantines(turn, quarantines, counted)
    _accept(turn, runs, quarantines)
    for name, count in counted.items():
        turn.db.execute(COUNT, (name, count))
    return outcomes


def _write_items(turn: Turn, items: Sequence[Item], bodies: Sequence[bytes], counted: Counter[str]) -> None:
    """Keep the newest revision of each item."""
    newest: dict[ItemId, int] = {}
    for index, item in enumerate(items):
        known = newest.get(item.item_id)
        if known is None or item.revision > items[known].revision:
            newest[item.item_id] = index
    slab = Slab()
    rows = to_json([(item_id, items[at].revision, *slab.add(bodies[at])) for item_id, at in newest.items()])
    blobs = slab.join()
    turn.db.execute(INSERT_ITEMS, (rows, blobs))
    inserted = turn.db.changes()
    if inserted < len(newest):
        turn.db.execute(RAISE_ITEMS, (rows, blobs))
    counted["items"] += inserted


def _write_ids(turn: Turn, runs: Sequence[PackedRun]) -> None:
    new = [run.commit.item for run in runs if run.commit.is_new_item]
    if new:
        turn.db.execute(INSERT_IDS, (to_json([(item.source, item.input_id, item.item_id) for item in new]),))


def _write_runs(turn: Turn, runs: Sequence[PackedRun], counted: Counter[str]) -> None:
    """Insert runs with their events and effects; those that were committed before are replaced instead."""
    known = find_known_runs(turn, runs)
    new: list[PackedRun] = []
    repeated: list[PackedRun] = []
    for run in runs:
        (repeated if run.commit.run_id in known else new).append(run)
        known.add(run.commit.run_id)
    if new:
        _insert_runs(turn, new)
        counted["runs"] += len(new)
        counted.update(f"runs.{STATUSES[run.status]}" for run in new)
    for run in repeated:
        counted.update(replace_run(turn, run))


def _insert_runs(turn: Turn, runs: Sequence[PackedRun]) -> None:
    slab = Slab()
    run_rows, event_rows, effect_rows = [], [], []
    for run in runs:
        commit = run.commit
        place = (turn.names.generator(commit.generator), commit.position)
        run_rows.append((commit.run_id, commit.item.item_id, *place, run.status, *slab.add(run.body)))
        event_rows += [(item_id, *slab.add(events)) for item_id, events in run.events]
        effect_rows += [
            (commit.run_id, effect.task, effect.sink, effect.mode, *slab.add(pack(effect))) for effect in commit.effects
        ]
    blobs = slab.join()
    turn.db.execute(INSERT_RUNS, (to_json(run_rows), blobs))
    if event_rows:
        turn.db.execute(INSERT_EVENTS, (to_json(event_rows), blobs))
    if effect_rows:
        turn.db.execute(INSERT_EFFECTS, (to_json(effect_rows), blobs))


def _write_quarantines(turn: Turn, quarantines: Sequence[Quarantine], counted: Counter[str]) -> None:
    rows = [
        (one.generator, one.position, one.source, one.reason, one.at_ms, pack(one.violations), one.raw)
        for one in quarantines
    ]
    turn.db.executemany(INSERT_QUARANTINE, rows)
    counted["quarantined"] += len(rows)


def _accept(turn: Turn, runs: Sequence[PackedRun], quarantines: Sequence[Quarantine]) -> None:
    leases = {run.commit.lease for run in runs if run.commit.accept and run.commit.lease is not None}
    leases.update(one.lease for one in quarantines if one.lease is not None)
    drop_leases(turn, leases)
