"""What probes read: one state machine from start to stop."""

from gristmill.domain.front.health import HealthReport, ServiceHealth
from gristmill.runtime.faces.board import HealthBoard
from gristmill.testing.clock import FakeClock

WELL, ILL = ServiceHealth(""), ServiceHealth("", ("engine-1 is dead",))


class Group:
    def __init__(self) -> None:
        self.services = [ILL]
        self.is_stopping = False

    async def health(self) -> list[ServiceHealth]:
        return self.services


async def test_a_group_has_started_once_it_has_served_and_is_ready_while_it_does() -> None:
    group, clock = Group(), FakeClock()
    board = HealthBoard(group.health, clock, is_stopping=lambda: group.is_stopping)
    heard: list[HealthReport] = []

    async def hear(report: HealthReport) -> None:
        heard.append(report)

    board.listeners.append(hear)
    assert board.report().faults("ready") == ("the group is starting",)
    await board.look()
    assert board.report().faults("startup") == ("the group is starting",)
    group.services = [WELL]
    await board.look()
    assert [board.report().faults(probe) for probe in ("startup", "live", "ready")] == [(), (), ()]
    group.services = [ILL]
    await board.look()
    report = board.report()
    assert (report.faults("startup"), report.faults("ready")) == ((), ("engine-1 is dead",))
    group.services, group.is_stopping = [WELL], True
    assert board.report().faults("ready") == ("the group is stopping", "engine-1 is dead")
    assert [one.phase for one in heard] == ["starting", "serving", "serving"]


async def test_a_main_process_that_looks_at_nothing_any_more_is_not_alive() -> None:
    group, clock = Group(), FakeClock()
    board = HealthBoard(group.health, clock, is_stopping=lambda: False)
    await board.look()
    clock.advance(29_000)
    assert board.report().faults("live") == ()
    clock.advance(2_000)
    assert board.report().faults("live") == ("health was not looked at for 31 s",)
    assert HealthReport("serving", ()).faults("ready") == ("nothing is known",)
