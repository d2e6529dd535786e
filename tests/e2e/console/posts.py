"""A group that has screened the sample posts, with one label that a person has negated."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

import msgspec

from tests.commands import wait_until
from tests.e2e.test_http import Service, serving

REASON = "names an offer in order to warn of it"


class Posts(msgspec.Struct):
    """Items that stand for a kind of their own, by what makes them so."""

    duplicate: str
    negated: str
    count: int


@contextmanager
def group_with_posts(folder: Path) -> Iterator[tuple[Service, Posts]]:
    """Start a group, publish the sample posts as comments, and wait until the plan `screen` has been through all."""
    text = resources.files("gristmill.cli").joinpath("data/demo_posts.jsonl").read_text(encoding="utf-8")
    posts = [json.loads(line) | {"kind": "comment"} for line in text.splitlines()]
    with serving(folder / "state") as service:
        wait_until(service.is_ready, "ready")
        lines = "\n".join(json.dumps(post) for post in posts).encode()
        status, _ = service.call("POST", "/v1/items:batch", lines, **{"Content-Type": "application/x-ndjson"})
        assert status == 200
        wait_until(lambda: len(find_items(service)) == len(posts), "all posts screened")
        found = find_items(service)
        negation = {"val": "spam", "reason": REASON, "actor": "eve"}
        status, _ = service.call("POST", f"/v1/items/{found['p05']}/labels:negate", negation)
        assert status == 200
        yield service, Posts(duplicate=found["p17"], negated=found["p05"], count=len(posts))


def find_items(service: Service) -> Mapping[str, str]:
    """Return input id -> item id of what is done."""
    items = service.call("GET", "/v1/items?limit=200&status=done")[1]["items"]
    return {item["input_id"]: item["item_id"] for item in items}
