"""What Dispatcher and Engine count. Labels are plan keys, task names and generator types: all bounded by the flows.

A call into the client library costs about as much as a small task, so what happens for each task is first tallied in
plain dictionaries and handed over once for each commit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter as Counts
from collections import defaultdict
from collections.abc import Sequence
from functools import cache, partial
from operator import attrgetter
from typing import Literal

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

from gristmill.domain.run import RunStatus, TaskReport, TaskStatus

__all__ = ["DispatcherMetrics", "Ending", "EngineMetrics", "RunTally"]

Ending = Literal["success", "failed", "fenced", "quarantined"]

US_PER_S = 1_000_000

_Shape = tuple[str, tuple[TaskStatus, ...]]
"""Plan key, and the status of each of its tasks in the order of the graph."""

DURATION_BUCKETS_S = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 900)
"""From an inline plan of tiny tasks to the time-out of a run."""

DURATION_BUCKETS_US = [round(bound * US_PER_S) for bound in DURATION_BUCKETS_S]
OBSERVE_ONE_BY_ONE_MAX = 8
"""Below it, going over the buckets would cost more."""

_status_of = attrgetter("status")
_find_bucket = partial(bisect_left, DURATION_BUCKETS_US)


class DispatcherMetrics:
    """Counters of one Dispatcher."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"gristmill_{name}", text, labels, registry=registry)

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"gristmill_{name}", text, labels, registry=registry, multiprocess_mode="livemostrecent")

        self.in_flight = gauge("dispatcher_inflight_count", "Records leased and with an engine.")
        self.generator_up = gauge("generator_up", "1 while claims of a generator succeed, 0 while it waits.", "type")
        self.sent = counter("dispatcher_task_sent", "Records handed to engines.", "task_type")
        self.succeeded = counter("dispatcher_result_success", "Records whose runs all ended well.")
        self.failed = counter("dispatcher_result_failed_final", "Records with a run that failed.", "origin")
        self.fenced = counter("dispatcher_result_fenced", "Results dropped since the lease had been lost.")
        self.unknown = counter("dispatcher_result_unknown", "Results whose lease is not under way.")
        self.returned = counter("dispatcher_task_returned", "Records that engines gave back untouched.")
        self.lost = counter("dispatcher_task_lost", "Records without a result long after their time-out.")
        self.lease_lost = counter("dispatcher_lease_lost", "Leases that could not be renewed.")
        self.crashed = counter("dispatcher_task_crashed", "Records given up since engines die of them.", "origin")
        self.recovered = counter("dispatcher_recovery", "Failed records put on the recovery topic.", "origin")
        self.dead = counter("dispatcher_dead_letter", "Failed records given up.", "origin")
        self.hook_errors = counter("dispatcher_hook_error", "Failures of terminal hooks.")


class EngineMetrics:
    """Counters of one Engine."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"gristmill_{name}", text, labels, registry=registry)

        def histogram(name: str, text: str, *labels: str) -> Histogram:
            return Histogram(f"gristmill_{name}", text, labels, registry=registry, buckets=DURATION_BUCKETS_S)

        self.received = counter("engine_task_received", "Records received from the dispatcher.")
        self.records_by_ending: dict[Ending, Counter] = {
            "success": counter("engine_task_success", "Records whose runs all ended well and were committed."),
            "failed": counter("engine_task_failed", "Records with a run that failed."),
            "fenced": counter("engine_task_fenced", "Records dropped since their lease had been lost."),
            "quarantined": counter("engine_task_quarantined", "Records that never became an item."),
        }
        self.timed_out = counter("engine_task_timeout", "Runs ended by their time-out.")
        self.cancelled = counter("engine_task_cancelled", "Records given back since the engine stopped.")
        self.conflicts = counter("engine_id_conflict", "Records run again since another engine had issued their id.")
        self.commits = counter("engine_commit", "Commits of one or more records.")
        self.callback_errors = counter("engine_callback_error", "Failures of what tasks left to do after the commit.")
        self.processing_time = histogram("engine_task_processing_time", "Seconds from a record's receipt to its end.")
        self.plans = counter("plan_execute", "Runs that ended.", "plan_name")
        self.plans_succeeded = counter("plan_execute_success", "Runs that ended well.", "plan_name")
        self.plans_failed = counter("plan_execute_failed", "Runs that failed.", "plan_name")
        self.plan_duration = histogram("plan_execute_duration", "Seconds of a run.", "plan_name")
        self.tasks = counter("task_exec", "Tasks that were looked at.", "task_name")
        self.tasks_by_status = {
            "skipped": counter("task_exec_skipped", "Tasks that did not apply.", "task_name"),
            "failed": counter("task_exec_failed", "Tasks that failed.", "task_name"),
            "bypassed": counter(
                "task_exec_bypassed", "Tasks that failed and were declared not to matter.", "task_name"
            ),
            "done": counter("task_exec_success", "Tasks that gave their result.", "task_name"),
        }
        self.tasks_begun = counter("task_exec_intaken", "Tasks that were not skipped.", "task_name")

    def task_counters(self, task: str, status: TaskStatus) -> tuple[Counter, ...]:
        """Return the counters of a task that ended so; one that was never looked at has none."""
        if status == "not_started":
            return ()
        looked_at = (self.tasks.labels(task), self.tasks_by_status[status].labels(task))
        return looked_at if status == "skipped" else (*looked_at, self.tasks_begun.labels(task))


class RunTally:
    """Counts ended runs and records in plain dictionaries until `flush`."""

    def __init__(self, metrics: EngineMetrics) -> None:
        self._metrics = metrics
        # The client looks a child up under a lock and from strings, for as much as counting itself costs.
        self._task_counters = cache(metrics.task_counters)
        self._shapes: defaultdict[_Shape, int] = defaultdict(int)
        self._names: dict[str, tuple[str, ...]] = {}
        self._plans: defaultdict[tuple[str, bool], int] = defaultdict(int)
        self._plan_us: defaultdict[str, list[int]] = defaultdict(list)
        self._endings: defaultdict[Ending, int] = defaultdict(int)
        self._record_us: list[int] = []

    def add_run(self, plan: str, status: RunStatus, tasks: Sequence[TaskReport], *, duration_us: int) -> None:
        """Count one ended run and its tasks."""
        # Nearly all runs of a plan take one of a few shapes; counting those is cheaper than counting tasks.
        self._shapes[plan, tuple(map(_status_of, tasks))] += 1
        if plan not in self._names and tasks:
            self._names[plan] = tuple([report.task for report in tasks])
        self._plans[plan, status != "failed"] += 1
        self._plan_us[plan].append(duration_us)

    def add_record(self, ending: Ending, *, duration_us: int) -> None:
        """Count one record, and how long it took from its receipt to its end."""
        self._endings[ending] += 1
        self._record_us.append(duration_us)

    def flush(self) -> None:
        """Hand all counts over and start again at none."""
        metrics = self._metrics
        for (task, status), count in self._count_tasks().items():
            for counter in self._task_counters(task, status):
                counter.inc(count)
        for (plan, is_success), count in self._plans.items():
            metrics.plans.labels(plan).inc(count)
            (metrics.plans_succeeded if is_success else metrics.plans_failed).labels(plan).inc(count)
        for plan, durations_us in self._plan_us.items():
            _observe_all(metrics.plan_duration.labels(plan), durations_us)
        for ending, count in self._endings.items():
            metrics.records_by_ending[ending].inc(count)
        _observe_all(metrics.processing_time, self._record_us)
        for tally in (self._shapes, self._names, self._plans, self._plan_us, self._endings, self._record_us):
            tally.clear()

    def _count_tasks(self) -> Counts[tuple[str, TaskStatus]]:
        counts: Counts[tuple[str, TaskStatus]] = Counts()
        for (plan, statuses), count in self._shapes.items():
            for task, status in zip(self._names.get(plan, ()), statuses, strict=False):
                counts[task, status] += count
        return counts


def _observe_all(histogram: Histogram, durations_us: list[int]) -> None:
    """Observe many values for the price of a few.

    The client has no such call: this adds to its buckets, which are not cumulative until they are scraped.
    """
    if len(durations_us) < OBSERVE_ONE_BY_ONE_MAX:
        for duration_us in durations_us:
            histogram.observe(duration_us / US_PER_S)
        return
    counts = Counts(map(_find_bucket, durations_us))
    for index, count in counts.items():
        histogram._buckets[index].inc(count)
    histogram._sum.inc(sum(durations_us) / US_PER_S)
