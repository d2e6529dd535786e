"""Commits a run id again: the run is replaced, its effects and events are kept once. Rare, so one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gristmill.adapters.packing import merge_effects, pack, pack_run, unpack_effects, unpack_events
from gristmill.adapters.sqlite.file.rows import from_json, to_json
from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.adapters.sqlite.state.packed import STATUS_CODES, STATUSES, PackedRun, pack_events
from gristmill.domain.ids import ItemId
from gristmill.domain.run import Event

__all__ = ["find_known_runs", "replace_run"]

KNOWN = """
SELECT json_group_array(j.key) FROM jsonb_each(?1) j CROSS JOIN run INDEXED BY run_by_position
WHERE generator_id = j.value ->> 0 AND position = j.value ->> 1 AND run_id = unhex(j.value ->> 2)
    AND run_row <= (SELECT max(run_row) FROM run) - ?2
"""
READ = """
SELECT run_row, status, body FROM run INDEXED BY run_by_position
WHERE generator_id = ? AND position = ? AND run_id = unhex(?)
"""
REPLACE = "UPDATE run SET item_id = ?2, status = ?3, is_open = ?4, body = ?5 WHERE run_row = ?1"
EFFECT = "INSERT OR IGNORE INTO effect(run_id, task, sink, mode, body) VALUES(unhex(?), ?, ?, ?, ?)"
EVENTS_OF_ITEM = "SELECT body FROM event WHERE item_id = ? ORDER BY event_row"
EVENT = "INSERT INTO event(item_id, body) VALUES(?, ?)"


def find_known_runs(turn: Turn, runs: Sequence[PackedRun], *, newest: int) -> set[str]:
    """Return the run ids that were committed before the `newest` last rows were."""
    found = from_json(turn.db.execute(KNOWN, (to_json([_key(turn, run) for run in runs]), newest)).get)
    return {runs[index].commit.run_id for index in found}


def replace_run(turn: Turn, run: PackedRun) -> Counter[str]:
    """Write a run over its earlier commit; return how the counts of statuses change."""
    commit = run.commit
    run_row, old_status, old_body = turn.db.execute(READ, _key(turn, run)).get
    effects = merge_effects(unpack_effects(old_body), commit.effects)
    columns = (commit.item.item_id, STATUS_CODES[commit.status], run.is_open)
    turn.db.execute(REPLACE, (run_row, *columns, pack_run(commit, effects)))
    for effect in commit.effects:
        turn.db.execute(EFFECT, (commit.run_id, effect.task, effect.sink, effect.mode, pack(effect)))
    for item_id, events in pack_events(_new_events(turn, commit.events)):
        turn.db.execute(EVENT, (item_id, events))
    changed = Counter({f"runs.{commit.status}": 1})
    changed[f"runs.{STATUSES[old_status]}"] -= 1
    return changed


def _key(turn: Turn, run: PackedRun) -> tuple[int, int, str]:
    return turn.names.generator(run.commit.generator), run.commit.position, run.commit.run_id


def _new_events(turn: Turn, events: Sequence[Event]) -> list[Event]:
    """Return the events that were not told before; the time may differ."""
    told = {
        _identity(event)
        for item_id in {event.item_id for event in events}
        for (body,) in turn.db.execute(EVENTS_OF_ITEM, (item_id,))
        for event in unpack_events(body)
    }
    return [event for event in events if _identity(event) not in told]


def _identity(event: Event) -> tuple[ItemId, str, str, bytes]:
    return event.item_id, event.run_id, event.kind, pack(event.body)
