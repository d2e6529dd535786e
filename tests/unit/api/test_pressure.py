"""What is too much is refused with the time to wait, and everything is counted."""

from typing import Any

from gristmill.domain.errors import Unavailable
from gristmill.domain.log import NewRecord
from gristmill.intake.publish import native_generator
from gristmill.runtime.faces.backlog import BacklogWatch
from tests.faces import face


async def test_a_token_makes_no_more_requests_than_it_may() -> None:
    async with face(rate_per_s=2) as faced:
        ann, bob = await faced.token("viewer"), await faced.token("viewer")
        statuses = [(await faced.client.get("/v1/items", headers=ann)).status_code for _ in range(3)]
        assert statuses == [200, 200, 429]
        limited = await faced.client.get("/v1/items", headers=ann)
        assert (limited.json()["type"], limited.headers["retry-after"]) == ("/problems/rate-limited", "1")
        assert (await faced.client.get("/v1/items", headers=bob)).status_code == 200
        faced.clock.advance(500)
        assert (await faced.client.get("/v1/items", headers=ann)).status_code == 200


async def test_nothing_is_published_while_too_much_waits() -> None:
    async with face() as faced:
        headers = await faced.token("operator")
        faced.is_full = True
        refused = await faced.client.post("/v1/items", json={"text": "a"}, headers=headers)
        assert (refused.status_code, refused.json()["type"]) == (503, "/problems/back-pressure")
        assert refused.headers["retry-after"] == "5"
        assert await faced.store.log.topics() == []
        faced.is_full = False
        assert (await faced.client.post("/v1/items", json={"text": "a"}, headers=headers)).status_code == 202


async def test_a_backlog_is_full_at_its_bound_and_no_longer_once_it_is_worked_off() -> None:
    async with face() as faced:
        generator = native_generator(["loud"])
        watch = BacklogWatch(faced.store.log, [generator], faced.clock, records_max=2)
        for is_full in (False, True):
            await faced.store.log.append("items", [NewRecord(b"{}")])
            await watch.look()
            assert watch.is_full("items") == is_full
        await faced.store.log.claim("items", "items", owner="me", limit=1, lease_ms=1_000)
        await watch.look()
        assert not watch.is_full("items")


class AwayLog:
    """Passes on what is asked of a log, unless that is away."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self.is_away = False

    def __getattr__(self, name: str) -> Any:
        if self.is_away:
            raise Unavailable("log is away")
        return getattr(self._log, name)


async def test_what_is_not_in_the_log_yet_counts_too_also_while_the_log_is_away() -> None:
    unsent: list[int | None] = [None]

    async def count_unsent() -> int:
        if unsent[-1] is None:
            raise Unavailable("state")
        return unsent[-1]

    async with face() as faced:
        generator, log = native_generator(["loud"]), AwayLog(faced.store.log)
        watch = BacklogWatch(log, [generator], faced.clock, records_max=3, unsent=count_unsent)
        await faced.store.log.append("items", [NewRecord(b"{}")])
        # Whether the log is away, rows that are not sent, and whether that is too much beside one record.
        for is_away, count, is_full in (
            (False, 1, False),
            (False, 2, True),
            (True, 1, False),
            (True, 2, True),
            (True, None, False),
        ):
            log.is_away = is_away
            unsent.append(count)
            await watch.look()
            assert watch.is_full("items") == is_full


async def test_answers_are_counted_by_operation_and_outcome() -> None:
    async with face() as faced:
        headers = await faced.token("operator")
        await faced.client.get("/v1/items")
        await faced.client.get("/nowhere")
        await faced.client.post("/v1/items", json={"text": "a"}, headers=headers)
        await faced.client.post("/v1/items", json={}, headers=headers)
        samples = [one for family in faced.services.tally.answers.collect() for one in family.samples]
        counted = {(one.labels["operation"], one.labels["outcome"]): one.value for one in samples if one.value == 1}
        wanted = {
            ("listItems", "unauthorised"),
            ("", "not-found"),
            ("publishItem", "ok"),
            ("publishItem", "validation"),
        }
        assert wanted <= set(counted)


async def test_the_watch_tells_each_lag_with_those_that_wait_for_a_further_attempt() -> None:
    async with face() as faced:
        generator, told = native_generator(["loud"]), list[tuple[str, int, int]]()
        watch = BacklogWatch(
            faced.store.log,
            [generator],
            faced.clock,
            records_max=9,
            tell=lambda one, lag: told.append((one.type, lag.undelivered, lag.waiting)),
        )
        await faced.store.log.append("items", [NewRecord(b"{}")])
        later_ms = faced.clock.now_ms() + 30_000
        await faced.store.log.append("items.recovery", [NewRecord(b"{}", due_at_ms=later_ms)])
        await watch.look()
        assert told == [("items", 1, 1)]
