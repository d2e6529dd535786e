"""What a failure, an End or a time-out does to the Run around it."""

from __future__ import annotations

import asyncio

import pytest

from gristmill import End, Item, Retry, task
from tests.driving import JumpingClock, drive, reasons, statuses
from tests.unit.engine.run.samples import Verdict, Words, flaky, words


async def test_a_failure_cuts_short_the_wait_of_a_sibling() -> None:
    clock = JumpingClock()

    @task(attempts=2, waits_ms=[600_000])
    async def patient(item: Item) -> None:
        raise OSError("busy")

    @task(attempts=1)
    async def broken(item: Item) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        raise ValueError("x")

    started_ms = clock.now_ms()
    ended = await drive(patient, broken, clock=clock)
    assert ended.error.startswith("ValueError: x")
    assert clock.now_ms() - started_ms < 1_000
    assert reasons(ended)["patient"] == "OSError: busy"


@pytest.mark.parametrize("runs", ["inline", "async", "thread"])
@pytest.mark.parametrize("closing", ["failure", "end"])
async def test_a_sibling_that_was_ready_but_had_not_begun_is_not_begun(runs: str, closing: str) -> None:
    log: list[str] = []

    @task(attempts=1)
    def closes(item: Item) -> End:
        if closing == "end":
            return End("rejected", "no")
        raise ValueError("x")

    def plain(item: Item) -> None:
        log.append(runs)

    async def plain_async(item: Item) -> None:
        log.append(runs)

    sibling = task(runs=runs)(plain_async if runs == "async" else plain)  # type: ignore[call-overload]
    ended = await drive(
        sibling.use(name="before") if runs != "inline" else closes.use(name="first"),
        closes,
        sibling.use(name="behind"),
        sibling.use(name="last", after_any=["behind"], finally_=True),
    )
    assert log == ([runs] if closing == "end" else [])
    expected = {"behind": "not_started", "last": "done" if closing == "end" else "not_started"}
    assert expected.items() <= statuses(ended).items()


async def test_a_running_sibling_is_awaited_and_what_was_not_started_stays_so() -> None:
    log: list[str] = []

    @task(attempts=1)
    async def broken(item: Item) -> None:
        await asyncio.sleep(0)
        raise ValueError("x")

    @task
    async def slow(item: Item) -> None:
        for _ in range(50):
            await asyncio.sleep(0)
        log.append("slow")

    @task
    def never(item: Item) -> None:
        log.append("never")

    ended = await drive(broken, slow, never.use(after=[slow]))
    assert log == ["slow"]
    assert statuses(ended) == {"broken": "failed", "slow": "done", "never": "not_started"}


async def test_an_end_still_runs_what_is_marked_finally_and_keeps_what_was_found() -> None:
    @task
    def judge(item: Item, words: Words) -> Verdict | End:
        return End("rejected", "blocked word")

    @task
    async def tell(item: Item, verdict: Verdict | None, words: Words) -> None:
        assert verdict is None

    @task
    def later(item: Item, verdict: Verdict) -> None: ...

    ended = await drive(words, judge, later, tell.use(finally_=True))
    assert (ended.status, ended.reason, ended.is_success) == ("rejected", "blocked word", True)
    assert statuses(ended) == {"words": "done", "judge": "done", "later": "not_started", "tell": "done"}
    assert len(ended.cells) == 1


class Refusal(BaseException):
    """What a library raises that wants to be caught by nobody."""


@pytest.mark.parametrize("kind", [SystemExit, asyncio.CancelledError, KeyboardInterrupt, Refusal])
@pytest.mark.parametrize("runs", ["inline", "async", "thread"])
async def test_what_would_leave_the_interpreter_only_fails_the_task(runs: str, kind: type[BaseException]) -> None:
    def leave(item: Item) -> None:
        raise kind

    async def leave_async(item: Item) -> None:
        raise kind

    leaving = task(runs=runs)(leave_async if runs == "async" else leave)  # type: ignore[call-overload]
    ended = await drive(leaving)
    assert (ended.status, ended.error_class) == ("failed", kind.__name__)


async def test_an_async_attempt_ends_at_its_time_out() -> None:
    @task(timeout_ms=5, attempts=1)
    async def hang(item: Item) -> None:
        await asyncio.Event().wait()

    assert (await drive(hang)).error == "TimeoutError: no answer within 5 ms"


async def test_a_time_out_of_the_task_itself_keeps_its_text() -> None:
    @task(attempts=1)
    async def asks(item: Item) -> None:
        raise TimeoutError("model took too long")

    assert (await drive(asks)).error == "TimeoutError: model took too long"


async def test_a_thread_attempt_ends_at_its_time_out_and_others_go_on() -> None:
    import threading

    release = threading.Event()

    @task(runs="thread", timeout_ms=20, attempts=1, on_error="fail_open")
    def hang(item: Item) -> None:
        release.wait(10)

    @task(runs="thread")
    def works(item: Item) -> Words:
        return Words(1)

    try:
        ended = await drive(hang, works.use(after=[hang]))
    finally:
        release.set()
    assert statuses(ended) == {"hang": "bypassed", "works": "done"}


async def test_a_task_that_fails_after_the_run_was_closed_gets_no_further_attempt() -> None:
    clock, log = JumpingClock(), list[str]()

    @task(attempts=1)
    async def broken(item: Item) -> None:
        raise ValueError("x")

    @task(attempts=5)
    async def late(item: Item) -> None:
        log.append("late")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        raise OSError("busy")

    ended = await drive(late, broken, clock=clock)
    assert ended.error == "ValueError: x; OSError: busy"
    assert (log, clock.waits_ms) == (["late"], [])


async def test_inline_tasks_behind_one_that_waits_make_all_their_attempts() -> None:
    clock, log = JumpingClock(), list[str]()

    @task
    async def first(item: Item) -> Words:
        return Words(1)

    ended = await drive(first, flaky(log, failures=3), clock=clock)
    assert (ended.status, len(log), clock.waits_ms) == ("done", 4, [1_000, 1_000, 1_000])


async def test_a_pause_of_no_length_does_not_touch_the_clock() -> None:
    clock, answers = JumpingClock(), [Retry(0), None]

    @task
    def asks(item: Item) -> Retry | None:
        return answers.pop(0)

    assert (await drive(asks, clock=clock)).status == "done"
    assert clock.waits_ms == []


async def test_a_task_may_ask_to_be_called_again() -> None:
    clock, answers = JumpingClock(), [Retry(30, "loading", counted=False), Retry(40, "busy"), None]

    @task
    def asks(item: Item) -> Retry | None:
        return answers.pop(0)

    ended = await drive(asks, clock=clock)
    assert (ended.status, ended.tasks[0].attempts, clock.waits_ms) == ("done", 3, [30, 40])
