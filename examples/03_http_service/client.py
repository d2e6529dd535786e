"""A comment form that asks before it shows: hold what is spam or toxic, publish everything, tell what became of it."""

import json
import os
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

API = os.environ.get("GRISTMILL_URL", "http://127.0.0.1:8080")
HEADERS = {"Authorization": f"Bearer {os.environ['GRISTMILL_TOKEN']}", "Content-Type": "application/json"}
HELD = {"spam", "toxic"}


def call(method: str, path: str, body: Any = None, **headers: str) -> Any:
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(API + path, content, {**HEADERS, **headers}, method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def decide(comment: dict[str, Any]) -> str:
    """Return what the form does with a comment; one that cannot be judged in time waits for a person."""
    try:
        scored = call("POST", "/v1/score", {"item": comment, "timeout_ms": 500})
    except OSError:
        return "wait"
    return "hold" if HELD & {label["val"] for label in scored["labels"]} else "show"


def publish(comment: dict[str, Any]) -> str:
    """Publish a comment and return its item id; repeating this is safe."""
    published = call("POST", "/v1/items", comment, **{"Idempotency-Key": f"comment-{comment['id']}"})
    return str(published["item_id"])


def await_labels(item_id: str) -> list[str]:
    """Return the labels of an item once it has been processed."""
    while (item := call("GET", f"/v1/items/{item_id}"))["status"] == "pending":
        time.sleep(0.05)  # noqa: TID251 - a client of another process can only wait.
    return sorted({label["val"] for label in item["labels"] if not label["negated"]})


def main() -> None:
    comments = [json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
    decided = {comment["id"]: (decide(comment), publish(comment)) for comment in comments}
    for comment_id, (decision, item_id) in decided.items():
        print(f"{comment_id} {decision}: {', '.join(await_labels(item_id)) or '-'}")


if __name__ == "__main__":
    main()
