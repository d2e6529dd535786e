"""Brings messages to a receiver: one signed request, or one append to a topic."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from gristmill.deliver.core.messages import Message
from gristmill.deliver.core.schedule import Verdict, judge_status
from gristmill.deliver.core.signing import compute_headers
from gristmill.domain.delivery import Attempt, Progress, Subscription
from gristmill.domain.delivery.progress import EXCERPT_CHARS_MAX
from gristmill.domain.errors import GristmillError, Unavailable
from gristmill.domain.log import NewRecord
from gristmill.ports.clock import Clock
from gristmill.ports.egress import Refused, Sender, Sent
from gristmill.ports.log import Log

__all__ = ["Sending", "Tried", "split"]

ONE, MANY = "application/cloudevents+json", "application/cloudevents-batch+json"
BATCH_BYTES_MAX = 256 * 1024
"""Of one request; more messages go into the next."""

ID_BYTES = 16
ERROR_CHARS_MAX = 200


class Tried(msgspec.Struct, frozen=True):
    """What became of one request; `asked_s` is the pause that the receiver wants."""

    verdict: Verdict
    attempt: Attempt
    asked_s: float = 0


class Sending:
    """The ways out, shared by all subscriptions of a process."""

    def __init__(self, sender: Sender, log: Log, clock: Clock) -> None:
        self._sender = sender
        self._log = log
        self._clock = clock

    async def send(
        self, subscription: Subscription, progress: Progress, messages: Sequence[Message], *, is_test: bool = False
    ) -> Tried:
        """Send messages once; a failure is told, never raised."""
        request_id = _request_id(subscription, messages)
        began_ms, began_us = self._clock.now_ms(), self._clock.monotonic_us()
        status, asked_s, error, response = 0, 0.0, "", b""
        verdict: Verdict = "failed"
        try:
            if subscription.topic:
                await self._append(subscription, messages)
                verdict = "delivered"
            else:
                answer = await self._post(subscription, progress, messages, request_id)
                if isinstance(answer, Refused):
                    error = f"{answer.reason}: {answer.detail}"
                else:
                    status, asked_s, response = answer.status, answer.retry_after_s, answer.body
                    verdict = judge_status(status)
                    error = "" if verdict == "delivered" else f"status {status}"
        except Unavailable as unavailable:
            error = unavailable.advice or str(unavailable)
        except GristmillError as wrong:
            error = str(wrong)
        attempt = Attempt(
            at_ms=began_ms,
            request_id=request_id,
            message_count=len(messages),
            position=max(message.position for message in messages),
            status=status,
            took_ms=(self._clock.monotonic_us() - began_us) // 1_000,
            error=error[:ERROR_CHARS_MAX],
            is_test=is_test,
            request=_excerpt(messages[0].body),
            response=_excerpt(response),
        )
        return Tried(verdict, attempt, asked_s)

    async def _post(
        self, subscription: Subscription, progress: Progress, messages: Sequence[Message], request_id: str
    ) -> Sent | Refused:
        body = messages[0].body if subscription.batch == 1 else b"[" + b",".join(one.body for one in messages) + b"]"
        now_ms = self._clock.now_ms()
        secrets = [progress.secret]
        if progress.old_secret and now_ms < progress.old_secret_until_ms:
            secrets.append(progress.old_secret)
        headers = compute_headers(secrets, request_id=request_id, at_s=now_ms // 1_000, body=body)
        headers["content-type"] = ONE if subscription.batch == 1 else MANY
        return await self._sender.post(subscription.webhook, body, headers=headers)

    async def _append(self, subscription: Subscription, messages: Sequence[Message]) -> None:
        records = [
            NewRecord(message.body, key=str(message.item_id), headers={"content-type": ONE}) for message in messages
        ]
        await self._log.append(subscription.topic, records)


def split(subscription: Subscription, messages: Sequence[Message]) -> list[list[Message]]:
    """Cut messages into requests."""
    parts: list[list[Message]] = []
    size = 0
    for message in messages:
        if not parts or len(parts[-1]) >= subscription.batch or size + len(message.body) > BATCH_BYTES_MAX:
            parts.append([])
            size = 0
        parts[-1].append(message)
        size += len(message.body)
    return parts


def _excerpt(body: bytes) -> str:
    return body[: EXCERPT_CHARS_MAX * 4].decode("utf-8", "replace")[:EXCERPT_CHARS_MAX]


def _request_id(subscription: Subscription, messages: Sequence[Message]) -> str:
    """Return an id that tells the content: a retry of the same has the same, so that receivers can drop it."""
    named = "\n".join((subscription.tenant, subscription.name, *(message.event_id for message in messages)))
    return f"msg_{hashlib.blake2b(named.encode(), digest_size=ID_BYTES).hexdigest()}"
