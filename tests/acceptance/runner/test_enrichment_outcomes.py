"""What becomes of a record by what its handler says, over every log."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import new_owner
from gristmill.domain.errors import ConfigError, OutcomeUnknown, Unavailable
from gristmill.domain.log import Diagnosis, Lease, Rejected
from gristmill.domain.outcome import Done, Fail, Retry
from gristmill.engine.runner import Runner, RunnerMetrics, RunnerSettings
from gristmill.ports.handling import Handling
from gristmill.ports.log import Log
from tests.runners.driving import Script, append, driving, has_nothing_left, until
from tests.runners.places import Places


async def test_AC_EN_013_a_group_that_stands_still_delays_no_other(places: Places, log: Log) -> None:
    names = [str(number) for number in range(100)]
    first, other = Script(), Script()
    await append(log, "before")
    async with driving(log, first, places.settings, group="first"):
        await until(lambda: first.count("before") == 1)
    await append(log, *names)
    async with driving(log, other, places.settings, group="other"):
        await until(lambda: len(other.calls) == 101)
    async with driving(log, first, places.settings, group="first"):
        await until(lambda: len(first.calls) == 101)
    assert sorted(value for value, _ in first.calls) == sorted(["before", *names])


async def test_AC_EN_016_a_record_to_be_tried_again_is_delivered_again(places: Places, log: Log) -> None:
    script = Script({"a": [Retry(0, "not yet"), Done()]})
    await append(log, "a")
    async with driving(log, script, places.settings):
        await until(lambda: len(script.calls) == 2)
        await until(has_nothing_left(log))
    assert script.calls == [("a", 1), ("a", 2)]
    assert await log.dead_letters() == []


async def test_AC_EN_017_a_record_that_never_succeeds_runs_three_times_and_is_given_up(
    places: Places, log: Log
) -> None:
    script = Script({"a": [ValueError("no"), Retry(0, "not yet")]})
    await append(log, "a")
    async with driving(log, script, places.settings) as runner:
        await until(lambda: len(script.calls) == 3)
        await until(has_nothing_left(log))
        await append(log, *"bcdefghijk")
        await until(lambda: len(script.calls) == 13)
    [letter] = await log.dead_letters(group=runner.group)
    assert [attempt for value, attempt in script.calls if value == "a"] == [1, 2, 3]
    assert letter.diagnosis.error_text == "not yet"
    assert [text for _, _, text in letter.diagnosis.history] == ["ValueError: no", "not yet", "not yet"]


@pytest.mark.parametrize("places", ["sqlite", "redis"], indirect=True)
async def test_AC_EN_018_failing_records_do_not_starve_good_ones(places: Places, log: Log) -> None:
    bad = [f"bad {number}" for number in range(50)]
    good = [f"good {number}" for number in range(50)]
    script = Script({name: [Retry(0)] for name in bad})
    await append(log, *bad, *good)
    async with driving(log, script, msgspec.structs.replace(places.settings, delays_ms=(1_000,))):
        await until(lambda: len(script.calls) == 200)
        await until(has_nothing_left(log))
    last_good = max(index for index, (value, _) in enumerate(script.calls) if value in good)
    exhausted = [index for index, (value, attempt) in enumerate(script.calls) if value in bad and attempt == 3]
    assert len(exhausted) == 50
    assert last_good < exhausted[0]


@pytest.mark.parametrize("places", ["sqlite"], indirect=True)
async def test_AC_EN_019_a_group_that_may_retry_needs_a_budget(log: Log) -> None:
    with pytest.raises(ConfigError, match=r"attempts of group 'g', whose handler may retry: 0 \(allow at least 1 run"):
        Runner(log, "t", "g", Script(), RunnerSettings(attempts=0), clock=SystemClock(), owner="me")
    Runner(
        log,
        "t",
        "g",
        Script(),
        RunnerSettings(attempts=0, may_retry=False),
        clock=SystemClock(),
        owner="me",
        metrics=RunnerMetrics(CollectorRegistry()),
    )


async def test_AC_EN_020_a_poisonous_record_runs_once_and_so_does_a_good_one(places: Places, log: Log) -> None:
    script = Script({"bad": [Fail("cannot be read")], "odd": [msgspec.ValidationError("no such field")]})
    await append(log, "bad", "good", "odd")
    async with driving(log, script, places.settings):
        await until(lambda: len(script.calls) == 3)
        await until(has_nothing_left(log))
    assert sorted(script.calls) == [("bad", 1), ("good", 1), ("odd", 1)]
    letters = {letter.value: letter for letter in await log.dead_letters(group="g")}
    assert {value: letter.attempt - 1 for value, letter in letters.items()} == {b"bad": 0, b"odd": 0}
    assert letters[b"bad"].diagnosis.error_class == "Fail"
    assert letters[b"odd"].diagnosis.error_class == "ValidationError"


def test_AC_EN_021_no_two_starts_have_one_owner() -> None:
    owners = {new_owner() for _ in range(100)}
    assert len(owners) == 100
    assert len({owner.rsplit(":", 1)[0] for owner in owners}) == 1


class LostAnswer:
    """A log whose first answer to a dead letter gets lost after it was written."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.rejects: list[tuple[Lease, Diagnosis]] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._log, name)

    async def reject(self, lease: Lease, diagnosis: Diagnosis) -> Rejected:
        answer = await self._log.reject(lease, diagnosis)
        self.rejects.append((lease, diagnosis))
        if len(self.rejects) == 1:
            raise OutcomeUnknown("answer of the log", value="none came")
        return answer


async def test_AC_EN_029_a_dead_letter_whose_answer_got_lost_is_written_once(places: Places, log: Log) -> None:
    script = Script({"bad": [Fail("no")]})
    await append(log, "bad")
    deaf = LostAnswer(log)
    async with driving(deaf, script, places.settings):  # type: ignore[arg-type]
        await until(lambda: len(deaf.rejects) > 0)
        await until(has_nothing_left(log))
    assert await log.reject(*deaf.rejects[0]) == "already"
    assert len(await log.dead_letters(group="g")) == 1
    assert script.calls == [("bad", 1)]


class Dependency:
    """A database, then a model provider: each goes down once so many records are done, until it is mended."""

    def __init__(self, outages: list[tuple[int, Exception]]) -> None:
        self._outages = outages
        self.failures = 0
        self.done: set[bytes] = set()
        self.attempts: set[int] = set()

    @property
    def is_down(self) -> bool:
        return bool(self._outages) and len(self.done) >= self._outages[0][0]

    def mend(self) -> None:
        self._outages.pop(0)
        self.failures = 0

    async def __call__(self, handling: Handling) -> None:
        self.attempts.add(handling.attempt)
        if self.is_down:
            self.failures += 1
            raise self._outages[0][1]
        self.done.add(handling.delivery.value)


async def test_AC_EN_089_an_outage_costs_no_attempt_and_stops_the_claiming(places: Places, log: Log) -> None:
    database, model = Unavailable("database", value="down"), ConnectionError("the model provider hangs up")
    dependency = Dependency([(0, database), (100, model)])
    await append(log, *(str(number) for number in range(200)))
    outage_s = 1.0
    async with driving(log, dependency, places.settings):
        for _ in range(2):
            await until(lambda: dependency.failures >= 5)
            await asyncio.sleep(0.2)  # Those under way when it was noticed.
            failures = dependency.failures
            await asyncio.sleep(outage_s)
            assert 0 < dependency.failures - failures <= 2 * outage_s * 1_000 / places.settings.probe_ms
            dependency.mend()
        await until(lambda: len(dependency.done) == 200)
        await until(has_nothing_left(log))
    assert await log.dead_letters(group="g") == []
    assert dependency.attempts == {1}
