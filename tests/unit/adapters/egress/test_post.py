"""POST through the guard: one hop, no redirects, private addresses refused."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from gristmill.adapters.egress import AddressPolicy, EgressLimits, EgressMetrics, GuardedEgress
from gristmill.domain.errors import Unavailable
from gristmill.ports.egress import Refused, Sent
from tests.delivery.webhooks import WebhookServer, is_signed


def guarded(*allow: str) -> GuardedEgress:
    metrics, limits = EgressMetrics(CollectorRegistry()), EgressLimits(connect_s=5, total_s=5)
    return GuardedEgress(AddressPolicy(allow), metrics=metrics, limits=limits)


async def test_a_body_arrives_with_its_headers() -> None:
    headers = {"webhook-id": "msg_1", "webhook-timestamp": "7", "webhook-signature": "v1,x"}
    body = b'{"data": {"point": "test", "position": 0}}'
    with WebhookServer() as receiver:
        assert await guarded(receiver.authority).post(receiver.url, body, headers=headers) == Sent(200)
    assert (receiver.ids, receiver.got[0]["data"]["point"]) == (["msg_1"], "test")
    assert not is_signed("whsec_AAAA", headers, body)


@pytest.mark.parametrize("status", [301, 429, 500])
async def test_any_status_is_an_answer_and_a_redirect_is_not_followed(status: int) -> None:
    with WebhookServer(answer=lambda number: status) as receiver:
        assert await guarded(receiver.authority).post(receiver.url, b"{}", headers={}) == Sent(status)
        assert receiver.requests == 1


@pytest.mark.parametrize(("asked", "told_s"), [("120", 120.0), ("soon", 0.0), ("9999999", 0.0)])
async def test_it_is_told_for_how_long_a_receiver_wants_to_be_left_alone(asked: str, told_s: float) -> None:
    with WebhookServer(answer=lambda number: 429) as receiver:
        receiver.headers["retry-after"] = asked
        assert await guarded(receiver.authority).post(receiver.url, b"{}", headers={}) == Sent(429, told_s)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1/hook", "blocked_address"),
        ("http://169.254.169.254/latest", "blocked_address"),
        ("http://[::1]/hook", "blocked_address"),
        ("http://10.0.0.1:8080/hook", "blocked_port"),
        ("http://user:pass@example.com/", "bad_url"),
        ("file:///etc/passwd", "bad_url"),
    ],
)
async def test_inner_addresses_are_refused(url: str, reason: str) -> None:
    refused = await guarded().post(url, b"{}", headers={})
    assert isinstance(refused, Refused)
    assert refused.reason == reason


async def test_nobody_who_answers_is_unavailable_and_the_address_stays_untold() -> None:
    with WebhookServer() as receiver:
        url, authority = receiver.url, receiver.authority
    with pytest.raises(Unavailable) as error:
        await guarded(authority).post(url, b"{}", headers={})
    assert "hook" not in str(error.value)
