"""When a receiver is tried again, and how requests are signed."""

from __future__ import annotations

import pytest

from gristmill.deliver.core.schedule import RETRIES_S, decide_pause_ms, judge_status
from gristmill.deliver.core.signing import compute_headers, sign, write_secret


def test_the_pauses_are_those_of_the_convention_and_then_it_is_given_up() -> None:
    pauses = [decide_pause_ms(failures, draw=0) for failures in range(1, 11)]
    assert pauses == [
        5_000,
        300_000,
        1_800_000,
        7_200_000,
        18_000_000,
        36_000_000,
        50_400_000,
        72_000_000,
        86_400_000,
        None,
    ]
    assert 3 * 86_400 < sum(RETRIES_S) < 4 * 86_400


def test_a_pause_is_drawn_out_and_never_shorter_than_the_receiver_asks() -> None:
    assert decide_pause_ms(1, draw=0.5) == 5_250
    assert decide_pause_ms(1, draw=0, asked_s=60) == 60_000
    assert decide_pause_ms(2, draw=0, asked_s=60) == 300_000
    assert decide_pause_ms(1, draw=0, asked_s=10**6) == 86_400_000


@pytest.mark.parametrize(
    ("status", "verdict"),
    [(200, "delivered"), (204, "delivered"), (301, "failed"), (410, "gone"), (429, "failed"), (500, "failed")],
)
def test_only_2xx_is_a_success(status: int, verdict: str) -> None:
    assert judge_status(status) == verdict


def test_a_signature_is_that_of_the_specification() -> None:
    """The vector that the libraries of Standard Webhooks are tested with."""
    signature = sign(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        request_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        at_s=1_614_265_330,
        body=b'{"test": 2432232314}',
    )
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_every_secret_signs() -> None:
    one, two = write_secret(b"1" * 32), write_secret(b"2" * 32)
    headers = compute_headers([one, two], request_id="msg_1", at_s=7, body=b"{}")
    assert (headers["webhook-id"], headers["webhook-timestamp"]) == ("msg_1", "7")
    signatures = headers["webhook-signature"].split(" ")
    assert signatures == [sign(secret, request_id="msg_1", at_s=7, body=b"{}") for secret in (one, two)]
