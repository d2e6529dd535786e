"""The tables of one schema, as steps that are made once each, in their order.

`outbox` is as in the SQLite store: stage 0 is to be sent, 1 is confirmed and the log still remembers it, 2 is only
watched. `run` holds one row a plan and item: whose it is until when, the fence `epoch` that grows with every start, and
how it ended. Rows of runs are updated in place and few; `fillfactor` leaves room for that beside them.
"""

from __future__ import annotations

__all__ = ["STEPS"]

STEPS = (
    """
CREATE TABLE outbox(
    outbox_row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, outbox_id text NOT NULL UNIQUE,
    stage smallint NOT NULL, topic text NOT NULL, key text NOT NULL, headers text, due_at_ms bigint NOT NULL,
    payload bytea NOT NULL, item_id bigint, generation integer NOT NULL, created_at_ms bigint NOT NULL,
    next_at_ms bigint NOT NULL, attempts integer NOT NULL DEFAULT 0, dispatched_at_ms bigint, position bigint,
    last_error text NOT NULL DEFAULT '');
CREATE INDEX outbox_by_stage ON outbox(stage, next_at_ms, outbox_row);
CREATE INDEX outbox_by_key ON outbox(topic, key) WHERE stage = 0 AND key <> '';
CREATE INDEX outbox_by_item ON outbox(item_id) WHERE item_id IS NOT NULL;
CREATE TABLE run(
    plan text NOT NULL, key text NOT NULL, owner text NOT NULL, epoch bigint NOT NULL, lease_until_ms bigint NOT NULL,
    attempts integer NOT NULL, generation integer NOT NULL, position bigint NOT NULL, status text NOT NULL DEFAULT '',
    result bytea, PRIMARY KEY(plan, key)) WITH (fillfactor = 70);
CREATE INDEX run_by_key ON run(key);
""",
)
"""A step is never changed once it was released: whoever has to change a table adds one."""
