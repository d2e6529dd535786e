"""Turns a record whose Runs are over into what is committed for it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gristmill.domain.commit import Commit, Contributed, Quarantine, RunCommit
from gristmill.domain.input_key import TENANT_DEFAULT
from gristmill.domain.item import Item
from gristmill.domain.run import Event
from gristmill.engine.core.recovery import cut_error_text
from gristmill.engine.work.record import RunDone, Work

__all__ = ["compose_commits"]


def compose_commits(work: Work, *, versions: Mapping[str, int], accept: bool, now_ms: int) -> list[Commit]:
    """Return one commit for each ended Run, or the quarantine entry; nothing where there is nothing to write.

    Failed Runs are written too, so that a person sees them while the record waits for its next chance; what they found
    is not.

    Args:
        accept: have the last commit accept the record.
        versions: plan key -> version.
    """
    lease = work.delivery.lease
    if work.faults is not None:
        source = work.generator.source or work.generator.topic
        return [
            Quarantine(
                lease=lease,
                source=source,
                generator=work.generator.type,
                position=work.origin.offset,
                raw=work.delivery.value,
                reason=work.faults.reason,
                violations=work.faults.violations,
                at_ms=now_ms,
                source_revision=work.faults.source_revision,
            )
        ]
    item = work.item
    if item is None or not work.done:
        return []
    last = work.done[-1] if accept else None
    return [_compose_run(work, item, done, version=versions[done.todo.plan], accept=done is last) for done in work.done]


def _compose_run(work: Work, item: Item, done: RunDone, *, version: int, accept: bool) -> RunCommit:
    ended, plan, run_id = done.ended, done.todo.plan, done.todo.run_id
    told = Event(
        "run.ended",
        item.item_id,
        run_id,
        done.ended_at_ms,
        {"status": ended.status, "labels": [label.val for label in ended.labels]},
    )
    events: tuple[Event, ...] = (told,)
    if plan == work.generator.plans[0]:
        # Told with the first plan alone, so that a revision is ingested once, however many Runs and tries it takes.
        body = {"revision": item.revision}
        if work.source_revision:
            body["source_revision"] = work.source_revision
        events = (Event("item.ingested", item.item_id, run_id, done.started_at_ms, body), told)
    delivery, origin = work.delivery, work.origin
    # Without keywords: looking up twenty of them takes seven times as long as making the struct.
    return RunCommit(
        run_id,
        plan,
        version,
        work.generator.type,
        item,
        origin.offset,
        ended.status,
        done.started_at_ms,
        done.ended_at_ms,
        ended.reason,
        cut_error_text(ended.error) if ended.error else "",
        delivery.attempt + origin.recovery,
        work.is_new,
        delivery.lease,
        accept,
        ended.tasks,
        ended.cells,
        ended.labels,
        _keep_apart(ended.contributions, item.tenant),
        ended.effects,
        events,
    )


def _keep_apart(contributions: tuple[Contributed, ...], tenant: str) -> tuple[Contributed, ...]:
    """Give each tenant spaces of its own: nobody's posts are duplicates of what only a stranger may see."""
    if tenant == TENANT_DEFAULT or not contributions:
        return contributions
    return tuple(
        msgspec.structs.replace(
            one, contribution=msgspec.structs.replace(one.contribution, space=f"{tenant}/{one.contribution.space}")
        )
        for one in contributions
    )
