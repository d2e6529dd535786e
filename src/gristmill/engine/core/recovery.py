"""What becomes of a record whose plans failed: another chance later, or a dead letter.

A failed record is accepted where it is and appended to its generator's recovery topic, due after 30 s, then 2 min, then
8 min. It carries where it came from in its headers, so that run ids, revisions and leaders stay what they
were. After the last recovery it becomes a dead letter with the history of all its failures. A record whose
engine died too often is given up without being handed out again.

Headers of a recovery record (`gristmill-` in front of each):

    origin-topic, origin-offset, arrived-at-ms    the record as it first came
    recovery                                      which recovery this is, from 1
    recovered-offsets                             where earlier recoveries stood on this topic, comma between them
    plans                                         plan keys that failed, comma between them; only they run again
    error                                         class and text of the last failure
    history                                       JSON list of [at_ms, owner, error_text], one entry a failure
    edited                                        set where the payload is not the one that came first
"""

from __future__ import annotations

import msgspec

from gristmill.domain.log import DeadLetter, Delivery, Diagnosis, Lease, NewRecord

__all__ = [
    "GiveUp",
    "Origin",
    "Recover",
    "RecoveryPolicy",
    "cut_error_text",
    "decide_failure",
    "diagnose_crash",
    "earlier_places",
    "read_origin",
    "resubmit",
]

PREFIX = "gristmill-"
ERROR_TEXT_BYTES_MAX = 2_048
HISTORY_TEXT_CHARS_MAX = 512
HISTORY_ENTRIES_MAX = 16

EPOCH_MAX = 1 << 62
"""Above any epoch that a lease can have: who is fenced with it never holds the record again."""

History = tuple[tuple[int, str, str], ...]


class RecoveryPolicy(msgspec.Struct, frozen=True):
    """How often and how late a failed record comes again.

    Attributes:
        delay_ms: before the first recovery.
        factor: each further delay is this many times the one before.
        recoveries_max: after which the record is given up.
    """

    delay_ms: int = 30_000
    factor: int = 4
    recoveries_max: int = 3


class Origin(msgspec.Struct, frozen=True, gc=False):
    """Where a record first stood, whatever topic it is read from now.

    Attributes:
        recovery: 0 for a record on its own topic, else which recovery it is.
        plans: plan keys that must run again; empty means all of the generator's.
        history: earlier failures.
        recovered: offsets of earlier recoveries on the recovery topic.
        is_edited: somebody has changed the payload since.
    """

    topic: str
    offset: int
    arrived_at_ms: int
    recovery: int = 0
    plans: tuple[str, ...] = ()
    history: History = ()
    recovered: tuple[int, ...] = ()
    is_edited: bool = False


class Recover(msgspec.Struct, frozen=True):
    """Accept the record and append this one to the topic, in one step."""

    topic: str
    record: NewRecord


class GiveUp(msgspec.Struct, frozen=True):
    """Write a dead letter with this diagnosis."""

    diagnosis: Diagnosis


def read_origin(delivery: Delivery, *, recovery_topic: str) -> Origin:
    """Return where a record first stood.

    Headers count on the recovery topic only, since elsewhere anyone may write them; a record there that lacks them or
    has odd ones was put there by somebody else and stands for itself.
    """
    lease = delivery.lease
    itself = Origin(lease.topic, lease.offset, delivery.appended_at_ms)
    if lease.topic != recovery_topic:
        return itself
    headers = delivery.headers
    try:
        return Origin(
            topic=headers[f"{PREFIX}origin-topic"],
            offset=int(headers[f"{PREFIX}origin-offset"]),
            arrived_at_ms=int(headers[f"{PREFIX}arrived-at-ms"]),
            recovery=int(headers[f"{PREFIX}recovery"]),
            plans=tuple(plan for plan in headers[f"{PREFIX}plans"].split(",") if plan),
            history=msgspec.json.decode(headers[f"{PREFIX}history"], type=History),
            recovered=tuple(int(part) for part in headers.get(f"{PREFIX}recovered-offsets", "").split(",") if part),
            is_edited=f"{PREFIX}edited" in headers,
        )
    except (KeyError, ValueError, msgspec.DecodeError):
        return itself


def decide_failure(
    delivery: Delivery, diagnosis: Diagnosis, *, recovery_topic: str, policy: RecoveryPolicy, owner: str, now_ms: int
) -> Recover | GiveUp:
    """Return what becomes of a failed record."""
    origin = read_origin(delivery, recovery_topic=recovery_topic)
    text = cut_error_text(diagnosis.error_text)
    entry = (now_ms, owner, text[:HISTORY_TEXT_CHARS_MAX])
    history = (*origin.history, entry)[-HISTORY_ENTRIES_MAX:]
    if origin.recovery >= policy.recoveries_max:
        return GiveUp(msgspec.structs.replace(diagnosis, error_text=text, history=history))
    told = msgspec.structs.replace(diagnosis, error_text=text, history=history)
    headers = _write_headers(delivery, origin, told, recovery=origin.recovery + 1)
    due_at_ms = now_ms + policy.delay_ms * policy.factor**origin.recovery
    return Recover(recovery_topic, NewRecord(delivery.value, delivery.key, headers, due_at_ms))


def resubmit(letter: DeadLetter, value: bytes, *, recovery_topic: str) -> NewRecord:
    """Return the record for the recovery topic that takes the place of a given-up one, with another payload.

    It is due at once and begins its recoveries anew. Run ids are those of the given-up record, so plans that have ended
    well run no further time, and a record that is written twice counts once.
    """
    lease = Lease(letter.topic, letter.group, letter.offset, "", 0)
    gone = Delivery(lease, value, letter.key, letter.headers, letter.attempt, letter.failed_at_ms)
    origin = read_origin(gone, recovery_topic=recovery_topic)
    headers = _write_headers(gone, origin, letter.diagnosis, recovery=1)
    return NewRecord(value, letter.key, headers | {f"{PREFIX}edited": "1"})


def earlier_places(origin: Origin, lease: Lease) -> list[Lease]:
    """Return a lease above all others for each place where a recovered record stood before.

    The log has ended it there, so nobody can hold it again; but whoever held it may still be about to write.
    """
    if not origin.recovery:
        return []
    places = [(origin.topic, origin.offset), *((lease.topic, offset) for offset in origin.recovered)]
    return [Lease(topic, lease.group, offset, lease.owner, EPOCH_MAX) for topic, offset in places]


def diagnose_crash(delivery: Delivery, *, recovery_topic: str) -> Diagnosis:
    """Return the diagnosis of a record that was being worked on each time its engine died."""
    origin = read_origin(delivery, recovery_topic=recovery_topic)
    text = f"the engine died {delivery.attempt - 1} times while it worked on this record"
    return Diagnosis(error_class="crashed", error_text=text, plans=origin.plans, history=origin.history)


def _write_headers(delivery: Delivery, origin: Origin, diagnosis: Diagnosis, *, recovery: int) -> dict[str, str]:
    kept = {name: value for name, value in delivery.headers.items() if not name.startswith(PREFIX)}
    return kept | {
        f"{PREFIX}origin-topic": origin.topic,
        f"{PREFIX}origin-offset": str(origin.offset),
        f"{PREFIX}arrived-at-ms": str(origin.arrived_at_ms),
        f"{PREFIX}recovery": str(recovery),
        f"{PREFIX}recovered-offsets": ",".join(map(str, _recovered_with(origin, delivery.lease.offset))),
        f"{PREFIX}plans": ",".join(diagnosis.plans),
        f"{PREFIX}error": cut_error_text(diagnosis.error),
        f"{PREFIX}history": msgspec.json.encode(diagnosis.history).decode(),
        **({f"{PREFIX}edited": "1"} if origin.is_edited else {}),
    }


def _recovered_with(origin: Origin, offset: int) -> tuple[int, ...]:
    return (*origin.recovered, offset) if origin.recovery else ()


def cut_error_text(text: str) -> str:
    """Return the text within 2 KiB of UTF-8, with what cannot be encoded replaced."""
    return text.encode("utf-8", "replace")[:ERROR_TEXT_BYTES_MAX].decode("utf-8", "ignore")
