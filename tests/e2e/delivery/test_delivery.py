"""Subscriptions over real processes: what a receiver was not told before a kill it is told after it."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.commands import run, wait_until
from tests.delivery.webhooks import WebhookServer
from tests.e2e.test_http import serving

ITEMS = 400


def publish(state: Path, folder: Path, text: str) -> str:
    """Publish a subscription and return its secret."""
    file = folder / "subscription.yaml"
    file.write_text(text, encoding="utf-8")
    told = run("subscription", "publish", file, "--state", state)
    assert told.returncode == 0, told.stderr
    return next((line.split()[1] for line in told.stdout.splitlines() if line.startswith("secret ")), "")


@pytest.mark.slow
def test_nothing_is_lost_when_the_group_is_killed_while_it_delivers(tmp_path: Path) -> None:
    state = tmp_path / "state"
    # One answer in ten is an error.
    with WebhookServer(answer=lambda number: 503 if number % 10 == 0 else 200) as receiver:
        receiver.secret = publish(
            state, tmp_path, f"subscription: all\nmax_rate: 400\nto: {{webhook: '{receiver.url}'}}\n"
        )
        settings = {
            "GRISTMILL_DELIVERY__ALLOW": receiver.authority,
            "GRISTMILL_DELIVERY__RETRIES_S": ",".join(["0.05"] * 100),
        }
        with serving(state, **settings) as service:
            posts = [{"source": "s", "input_id": f"p{number}", "text": f"text {number}"} for number in range(ITEMS)]
            body = "".join(json.dumps(post) + "\n" for post in posts).encode()
            status, answer = service.call("POST", "/v1/items:batch", body, **{"Content-Type": "application/x-ndjson"})
            assert status == 200, answer
            token, ids = service.token, [one["item_id"] for one in answer["items"]]
            wait_until(lambda: len(receiver.newest) > ITEMS // 8, "the first messages")
            os.kill(service.process.pid, signal.SIGKILL)
            service.process.wait()
        before = len(receiver.newest)
        assert before < ITEMS
        with serving(state, token, **settings):
            wait_until(lambda: len(receiver.newest) == ITEMS, "every message", timeout_s=60)
        assert set(receiver.newest) == set(ids)
        assert {data["fields"]["input_id"] for data in receiver.newest.values()} == {post["input_id"] for post in posts}
        assert receiver.bad_signatures == 0


@pytest.mark.slow
def test_a_private_address_is_refused_and_told_and_a_topic_takes_what_is_found(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with WebhookServer() as receiver:
        publish(state, tmp_path, f"subscription: inner\nto: {{webhook: '{receiver.url}'}}\n")
        publish(state, tmp_path, "subscription: out\ncolumns: [text]\nto: {topic: delivery.out}\n")
        tried = run("subscription", "test", "inner", "--state", state)
        assert (tried.returncode, "blocked_port" in tried.stdout) == (1, True)
        with serving(state) as service:
            service.call("POST", "/v1/items", {"source": "s", "input_id": "p", "text": "hello"})

            def is_told() -> bool:
                listed = service.call("GET", "/v1/subscriptions")[1]["subscriptions"]
                by_name = {one["name"]: one for one in listed}
                return (by_name["inner"]["failures"], by_name["out"]["messages"]) == (1, 1)

            wait_until(is_told, "a refusal and a record")
            shown = service.call("GET", "/v1/subscriptions/inner")[1]
            assert shown["subscription"]["last_error"].startswith("blocked_port")
            status, paused = service.call("POST", "/v1/subscriptions/inner/pause")
            assert (status, paused["status"]) == (200, "paused")
        assert receiver.requests == 0
    listed = run("subscription", "ls", "--state", state).stdout
    assert "inner" in listed
    assert "paused" in listed
