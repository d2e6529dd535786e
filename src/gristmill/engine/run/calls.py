"""One attempt: calls a task's function the way its operator asks for, within its time-out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import copy_context
from typing import Any

from gristmill.engine.core.attempts import Again, Attempts, Ending
from gristmill.engine.run.processes import ProcessPool
from gristmill.engine.run.steps import Slots, Step

__all__ = ["FAILURES", "THREADS_MAX", "Workers", "attempt_once", "is_cancelled"]

FAILURES = BaseException
"""What fails a task and goes no further. A cancellation that nobody asked for comes from something that the task waited
for; a function that wants to leave the interpreter, or that plays Ctrl-C, must not take the engine along: the engine's
own signals never arrive as exceptions."""

THREADS_MAX = 16
"""Threads of one engine for tasks with runs='thread'. They wait for IO or run native code that lets go of the
interpreter; more would not make two cores faster."""


class Workers:
    """Threads and child processes of one engine, each started when first needed."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._processes: ProcessPool | None = None

    def threads(self) -> ThreadPoolExecutor:
        """Return the executor for tasks that run in a thread."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="gristmill-task")
        return self._threads

    def processes(self) -> ProcessPool:
        """Return the pool for tasks that run in a process."""
        if self._processes is None:
            self._processes = ProcessPool()
        return self._processes

    def close(self) -> None:
        """Kill the children and let go of the threads; a call that hangs in a thread is not waited for."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        if self._processes is not None:
            self._processes.close()


async def attempt_once(step: Step, slots: Slots, attempts: Attempts, workers: Workers) -> Again | Ending:
    """Call a task once, the way its operator asks for, and classify its answer.

    An attempt longer than the operator's `timeout_ms` is a TimeoutError: an async function is cancelled and a child
    process killed; a function in a thread goes on to its end, which nobody sees. Only a cancellation from outside is
    raised.
    """
    try:
        value = await _call(step, slots, workers)
    except FAILURES as error:
        if isinstance(error, GeneratorExit) or (isinstance(error, asyncio.CancelledError) and is_cancelled()):
            raise
        return attempts.on_error(error)
    return attempts.on_value(value)


def is_cancelled() -> bool:
    """Return whether somebody asked for the current asyncio task to be cancelled."""
    current = asyncio.current_task()
    return current is not None and current.cancelling() > 0


async def _call(step: Step, slots: Slots, workers: Workers) -> Any:
    operator = step.operator
    match operator.runs:
        case "inline":
            return step.call(slots)
        case "async":
            async with _limit(operator.options.timeout_ms):
                return await step.call(slots)
        case "thread":
            async with _limit(operator.options.timeout_ms):
                run = copy_context().run
                return await asyncio.get_running_loop().run_in_executor(workers.threads(), run, step.call, slots)
        case "process":
            arguments = tuple(slots[argument] for argument in step.arguments)
            timeout_ms = operator.options.timeout_ms
            return await workers.processes().call(operator, arguments, step.config, timeout_ms=timeout_ms)


@asynccontextmanager
async def _limit(timeout_ms: int) -> AsyncIterator[None]:
    """Bound the block in real time: a fake clock must not end an attempt that waits for a thread."""
    limit = asyncio.timeout(timeout_ms / 1_000)
    try:
        async with limit:
            yield
    except TimeoutError as error:
        if limit.expired():
            raise TimeoutError(f"no answer within {timeout_ms} ms") from error
        raise
