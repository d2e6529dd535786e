"""The tables of one store, version 8. A file of an earlier version is brought up to date when it is opened.

Log: `log` holds records of all topics under one growing position, which is their offset. A group (`grp`) has a cursor
over its topic; records behind the cursor have a row in `lease` until they are accepted: with an owner while leased,
with owner 0 while they wait. `grp.passed` counts the topic's records up to the cursor, so a lag needs no scan;
`grp.earliest_end_ms` is never above the end of any lease of the group, so ended leases are looked for only when
there may be one. `dead` keeps requeued letters too: they answer a repeated reject, and their epoch goes on growing.

State: `run`, `event` and `contribution` rows hold packed blobs; only what is searched by has a column of its own.
A run keeps the position of its record, so runs are told apart under their position: run ids are hashes, and an index
over all of them would dirty a page of its own for every run. Only a run whose record was not accepted with it is open
and found by its id alone, since only such a record can come back. `join_member` is a forest of disjoint sets per
space: a root (parent 0) knows the size and leader of its group. `tally` holds counts that would need scans.
`id_map.raw` is the input id where `input_id` is only its hash. `definition` keeps every revision of what was published,
and `definition_row` tells what is new. `once` remembers calls that may be repeated, `label_fact` what people said.
`fence` tells late holders of a record from its present one where the log is apart from this file; else it is empty.
`outbox` holds what is to become records of such a log, and `origin` which record of it brought a row first.
`sample` is how far the log had come at a moment, noted before records are let go of: it counts what is gone.
`closing` is what somebody did with a dead letter; it outlives the letter, whichever log that was in.
`subscription` is how far each has come, `sent` what its receiver has of an item, `attempt` the newest of its requests.
Numbers of events grow in the order of commits and are never used again: subscriptions read on behind the last one.

Everything that many rows share (topics, owners, generators, spaces) is a small number.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import apsw

from gristmill.domain.errors import ConfigError

__all__ = ["APPLICATION_ID", "SCHEMA_VERSION", "prepare_schema"]

SCHEMA_VERSION = 8
APPLICATION_ID = 0x67726973
"""Marks a file as ours ("gris")."""

FENCE = """
CREATE TABLE fence(fence_id INTEGER PRIMARY KEY, topic TEXT NOT NULL, grp TEXT NOT NULL, position INTEGER NOT NULL,
    epoch INTEGER NOT NULL, until_ms INTEGER NOT NULL, UNIQUE(topic, grp, position));
CREATE INDEX fence_by_end ON fence(until_ms);
"""

DELIVERY = """
CREATE TABLE subscription(subscription_id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, name TEXT NOT NULL,
    version INTEGER NOT NULL, body BLOB NOT NULL, UNIQUE(tenant, name));
CREATE TABLE sent(item_id INTEGER NOT NULL, subscription_id INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY(item_id, subscription_id)) WITHOUT ROWID;
CREATE TABLE attempt(attempt_id INTEGER PRIMARY KEY, subscription_id INTEGER NOT NULL, body BLOB NOT NULL);
CREATE INDEX attempt_by_subscription ON attempt(subscription_id);
"""

CLOSING = """
CREATE TABLE closing(closing_id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, body BLOB NOT NULL,
    original BLOB NOT NULL, edited BLOB NOT NULL);
"""

OUTBOX = """
CREATE TABLE outbox(outbox_row INTEGER PRIMARY KEY AUTOINCREMENT, outbox_id TEXT NOT NULL UNIQUE,
    stage INTEGER NOT NULL, topic TEXT NOT NULL, key TEXT NOT NULL, headers TEXT, due_at_ms INTEGER NOT NULL,
    payload BLOB NOT NULL, item_id INTEGER, generation INTEGER NOT NULL, created_at_ms INTEGER NOT NULL,
    next_at_ms INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, dispatched_at_ms INTEGER, position INTEGER,
    last_error TEXT NOT NULL DEFAULT '');
CREATE INDEX outbox_by_stage ON outbox(stage, next_at_ms);
CREATE INDEX outbox_by_key ON outbox(topic, key) WHERE stage = 0 AND key <> '';
CREATE INDEX outbox_by_item ON outbox(item_id) WHERE item_id IS NOT NULL;
CREATE TABLE origin(origin_id INTEGER PRIMARY KEY, outbox_id TEXT NOT NULL, grp TEXT NOT NULL,
    position INTEGER NOT NULL, until_ms INTEGER NOT NULL, UNIQUE(outbox_id, grp));
CREATE INDEX origin_by_end ON origin(until_ms);
"""

TABLES = """
CREATE TABLE schema_version(version INTEGER NOT NULL);
CREATE TABLE tally(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE topic(topic_id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    record_count INTEGER NOT NULL DEFAULT 0, trimmed_count INTEGER NOT NULL DEFAULT 0);
CREATE TABLE grp(grp_id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, name TEXT NOT NULL,
    cursor INTEGER NOT NULL DEFAULT 0, passed INTEGER NOT NULL DEFAULT 0, earliest_end_ms INTEGER NOT NULL,
    UNIQUE(topic_id, name));
CREATE TABLE owner(owner_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
CREATE TABLE log(position INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, due_at_ms INTEGER NOT NULL,
    appended_at_ms INTEGER NOT NULL, key TEXT NOT NULL, headers TEXT, value BLOB NOT NULL);
CREATE INDEX log_by_topic ON log(topic_id, position, due_at_ms);
CREATE INDEX log_delayed ON log(topic_id, position) WHERE due_at_ms > 0;
CREATE TABLE lease(grp_id INTEGER NOT NULL, position INTEGER NOT NULL, owner_id INTEGER NOT NULL,
    epoch INTEGER NOT NULL, attempt INTEGER NOT NULL, visible_at_ms INTEGER NOT NULL,
    generation INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(grp_id, position)) WITHOUT ROWID;
CREATE INDEX lease_waiting ON lease(grp_id, visible_at_ms, position) WHERE owner_id = 0;
CREATE TABLE dead(dead_id INTEGER PRIMARY KEY AUTOINCREMENT, grp_id INTEGER NOT NULL, position INTEGER NOT NULL,
    generation INTEGER NOT NULL, owner_id INTEGER NOT NULL, epoch INTEGER NOT NULL, attempt INTEGER NOT NULL,
    failed_at_ms INTEGER NOT NULL, is_open INTEGER NOT NULL DEFAULT 1, diagnosis BLOB NOT NULL,
    UNIQUE(grp_id, position, generation));
CREATE INDEX dead_open ON dead(grp_id) WHERE is_open;

CREATE TABLE generator(generator_id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE space(space_id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE id_segment(namespace TEXT PRIMARY KEY, day INTEGER NOT NULL, next INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE id_map(tenant TEXT NOT NULL, source TEXT NOT NULL, input_id TEXT NOT NULL, item_id INTEGER NOT NULL,
    raw TEXT, PRIMARY KEY(tenant, source, input_id)) WITHOUT ROWID;
CREATE INDEX id_map_by_item ON id_map(item_id);
CREATE TABLE item(item_id INTEGER PRIMARY KEY, revision INTEGER NOT NULL, body BLOB NOT NULL);
CREATE TABLE run(run_row INTEGER PRIMARY KEY, run_id BLOB NOT NULL, item_id INTEGER NOT NULL,
    generator_id INTEGER NOT NULL, position INTEGER NOT NULL, status INTEGER NOT NULL, is_open INTEGER NOT NULL,
    body BLOB NOT NULL);
CREATE UNIQUE INDEX run_by_position ON run(generator_id, position, run_id);
CREATE INDEX run_by_item ON run(item_id);
CREATE INDEX run_open ON run(run_id) WHERE is_open;
CREATE TABLE event(event_row INTEGER PRIMARY KEY, item_id INTEGER NOT NULL, body BLOB NOT NULL);
CREATE INDEX event_by_item ON event(item_id);
CREATE TABLE effect(run_id BLOB NOT NULL, task TEXT NOT NULL, sink TEXT NOT NULL, mode TEXT NOT NULL,
    body BLOB NOT NULL, PRIMARY KEY(run_id, task, sink)) WITHOUT ROWID;
CREATE TABLE contribution(item_id INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE join_key(space_id INTEGER NOT NULL, key TEXT NOT NULL, item_id INTEGER NOT NULL,
    PRIMARY KEY(space_id, key)) WITHOUT ROWID;
CREATE TABLE join_member(space_id INTEGER NOT NULL, item_id INTEGER NOT NULL, parent INTEGER NOT NULL,
    size INTEGER NOT NULL, leader_position INTEGER NOT NULL, leader INTEGER NOT NULL,
    PRIMARY KEY(space_id, item_id)) WITHOUT ROWID;
CREATE TABLE sighting(space_id INTEGER NOT NULL, key TEXT NOT NULL, at_ms INTEGER NOT NULL,
    position INTEGER NOT NULL, item_id INTEGER NOT NULL,
    PRIMARY KEY(space_id, key, at_ms, position, item_id)) WITHOUT ROWID;
CREATE TABLE quarantine(quarantine_id INTEGER PRIMARY KEY AUTOINCREMENT, generator TEXT NOT NULL,
    position INTEGER NOT NULL, source TEXT NOT NULL, reason TEXT NOT NULL, at_ms INTEGER NOT NULL,
    violations BLOB NOT NULL, raw BLOB NOT NULL, source_revision INTEGER NOT NULL DEFAULT 0);
CREATE INDEX quarantine_by_position ON quarantine(position);
CREATE TABLE cache(key TEXT PRIMARY KEY, value TEXT NOT NULL, until_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX cache_by_end ON cache(until_ms);
CREATE TABLE definition(definition_row INTEGER PRIMARY KEY, kind TEXT NOT NULL, tenant TEXT NOT NULL,
    name TEXT NOT NULL, revision INTEGER NOT NULL, hash TEXT NOT NULL, at_ms INTEGER NOT NULL, actor TEXT NOT NULL,
    body TEXT NOT NULL, UNIQUE(kind, tenant, name, revision));
CREATE TABLE label_fact(fact_id INTEGER PRIMARY KEY AUTOINCREMENT, item_id INTEGER NOT NULL, body BLOB NOT NULL);
CREATE INDEX label_fact_by_item ON label_fact(item_id);
CREATE TABLE once(key TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, until_ms INTEGER NOT NULL,
    item_ids BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX once_by_end ON once(until_ms);
CREATE TABLE token(token_id TEXT PRIMARY KEY, secret_hash BLOB NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL,
    tenant TEXT NOT NULL, created_at_ms INTEGER NOT NULL, revoked_at_ms INTEGER) WITHOUT ROWID;
CREATE TABLE sample(at_ms INTEGER PRIMARY KEY, position INTEGER NOT NULL);
"""
TABLES += FENCE + DELIVERY + CLOSING + OUTBOX

STEPS: Mapping[int, str] = MappingProxyType(
    {
        1: """
CREATE TABLE new_id_map(tenant TEXT NOT NULL, source TEXT NOT NULL, input_id TEXT NOT NULL, item_id INTEGER NOT NULL,
    raw TEXT, PRIMARY KEY(tenant, source, input_id)) WITHOUT ROWID;
INSERT INTO new_id_map SELECT 'main', source, input_id, item_id, NULL FROM id_map;
DROP TABLE id_map;
ALTER TABLE new_id_map RENAME TO id_map;
CREATE INDEX id_map_by_item ON id_map(item_id);
ALTER TABLE quarantine ADD COLUMN source_revision INTEGER NOT NULL DEFAULT 0;
CREATE TABLE definition(definition_row INTEGER PRIMARY KEY, kind TEXT NOT NULL, tenant TEXT NOT NULL,
    name TEXT NOT NULL, revision INTEGER NOT NULL, hash TEXT NOT NULL, at_ms INTEGER NOT NULL, actor TEXT NOT NULL,
    body TEXT NOT NULL, UNIQUE(kind, tenant, name, revision));
""",
        2: """
CREATE TABLE label_fact(fact_id INTEGER PRIMARY KEY AUTOINCREMENT, item_id INTEGER NOT NULL, body BLOB NOT NULL);
CREATE INDEX label_fact_by_item ON label_fact(item_id);
CREATE TABLE once(key TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, until_ms INTEGER NOT NULL,
    item_ids BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX once_by_end ON once(until_ms);
CREATE TABLE token(token_id TEXT PRIMARY KEY, secret_hash BLOB NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL,
    tenant TEXT NOT NULL, created_at_ms INTEGER NOT NULL, revoked_at_ms INTEGER) WITHOUT ROWID;
""",
        3: """
CREATE TABLE sample(at_ms INTEGER PRIMARY KEY, position INTEGER NOT NULL);
""",
        4: FENCE,
        5: DELIVERY,
        6: CLOSING,
        7: OUTBOX,
    }
)
"""Version -> what makes a file of that version one of the next. Whoever changes TABLES adds a step."""


def prepare_schema(connection: apsw.Connection, path: Path) -> None:
    """Create the tables in an empty file, or check that they are ours and bring them up to date.

    Call it inside a write transaction: an update happens as a whole or not at all.

    Raises:
        ConfigError: another program's file, or a store of a newer Gristmill.
    """
    application_id = connection.pragma("application_id")
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    if application_id == 0 and tables == 0:
        connection.execute(TABLES)
        connection.execute("INSERT INTO schema_version VALUES(?)", (SCHEMA_VERSION,))
        connection.execute("INSERT INTO tally VALUES('position', 0)")
        connection.pragma("application_id", APPLICATION_ID)
        return
    if application_id != APPLICATION_ID:
        advice = "choose another path: this file belongs to another program"
        raise ConfigError(f"{path} is not a Gristmill store", value=application_id, advice=advice)
    version = connection.execute("SELECT version FROM schema_version").get
    while version in STEPS:
        connection.execute(STEPS[version])
        version += 1
        connection.execute("UPDATE schema_version SET version = ?", (version,))
    if version != SCHEMA_VERSION:
        advice = f"this Gristmill reads schema version {SCHEMA_VERSION}: start the one that wrote the file, or newer"
        raise ConfigError(f"store {path} has another schema version", value=version, advice=advice)
