"""Counts are handed over in bulk and read like any others."""

from prometheus_client import CollectorRegistry, generate_latest

from gristmill.domain.run import TaskReport
from gristmill.engine.metrics import DURATION_BUCKETS_S, DispatcherMetrics, EngineMetrics, RunTally


def test_the_scrape_holds_the_names_that_operators_know() -> None:
    registry = CollectorRegistry()
    DispatcherMetrics(registry).failed.labels("G").inc()
    assert 'gristmill_dispatcher_result_failed_final_total{origin="G"} 1.0' in generate_latest(registry).decode()


def test_tasks_and_plans_are_counted_once_a_flush() -> None:
    registry = CollectorRegistry()
    tally = RunTally(EngineMetrics(registry))
    tally.add_run("p", "done", [TaskReport("a", "done"), TaskReport("b", "skipped")], duration_us=10)
    tally.add_run("p", "failed", [TaskReport("a", "failed"), TaskReport("b", "not_started")], duration_us=10)
    tally.add_run("p", "failed", [], duration_us=10)
    tally.add_record("success", duration_us=10)
    assert registry.get_sample_value("gristmill_task_exec_total", {"task_name": "a"}) is None
    tally.flush()
    tally.flush()

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"gristmill_{name}", labels)

    assert value("task_exec_total", task_name="a") == 2
    assert value("task_exec_success_total", task_name="a") == 1
    assert value("task_exec_failed_total", task_name="a") == 1
    assert value("task_exec_total", task_name="b") == 1
    assert value("task_exec_skipped_total", task_name="b") == 1
    assert value("task_exec_intaken_total", task_name="b") is None
    assert value("plan_execute_total", plan_name="p") == 3
    assert value("plan_execute_success_total", plan_name="p") == 1
    assert value("plan_execute_failed_total", plan_name="p") == 2
    assert value("engine_task_success_total") == 1


def test_many_durations_are_observed_as_one_by_one() -> None:
    durations_us = [10, 100, 101, 5_000_000, 2_000_000_000] * 5
    few, many = CollectorRegistry(), CollectorRegistry()
    for registry, sizes in ((few, (5, 5, 5, 5, 5)), (many, (25,))):
        tally, rest = RunTally(EngineMetrics(registry)), iter(durations_us)
        for size in sizes:
            for _ in range(size):
                tally.add_run("p", "done", [], duration_us=next(rest))
            tally.flush()
    for name, labels in (
        ("count", {}),
        ("sum", {}),
        *(("bucket", {"le": f"{float(bound)}"}) for bound in DURATION_BUCKETS_S),
        ("bucket", {"le": "+Inf"}),
    ):
        sample = f"gristmill_plan_execute_duration_{name}", {"plan_name": "p"} | labels
        assert few.get_sample_value(*sample) is not None
        assert few.get_sample_value(*sample) == many.get_sample_value(*sample)
