-- The tables of version 1, as they were: a store of that version must open for ever.
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
CREATE TABLE id_map(source TEXT NOT NULL, input_id TEXT NOT NULL, item_id INTEGER NOT NULL,
    PRIMARY KEY(source, input_id)) WITHOUT ROWID;
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
    violations BLOB NOT NULL, raw BLOB NOT NULL);
CREATE INDEX quarantine_by_position ON quarantine(position);
CREATE TABLE cache(key TEXT PRIMARY KEY, value TEXT NOT NULL, until_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX cache_by_end ON cache(until_ms);
