"""Child processes for tasks that would hold the interpreter lock, or that may hang or crash.

One thread of the parent owns one child and speaks to it over a pipe: payload in, answer out. A call that times out
or kills its child costs that child alone; the next call of the thread starts another one.
"""

from __future__ import annotations

import importlib
import io
import multiprocessing
import pickle
import sys
import threading
from asyncio import CancelledError, get_running_loop
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import PathFinder
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from types import MappingProxyType
from typing import Any

from gristmill.domain.errors import ConfigError, Unavailable
from gristmill.domain.item import freeze
from gristmill.plans.operator import Operator

__all__ = ["PROCESSES_MAX", "ProcessPool", "refuse_unimportable"]

PROCESSES_MAX = 2
"""Children of one engine. Engines are themselves one per core, so more would only compete."""

START_S_MAX = 60.0
"""A child that has not imported what it needs by then never will."""


class ProcessPool:
    """Calls functions in child processes, started when first needed. Everything passed must be picklable."""

    def __init__(self, size: int = PROCESSES_MAX) -> None:
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="gristmill-process")
        self._own = threading.local()
        self._children: set[_Child] = set()

    async def call(
        self, operator: Operator, arguments: tuple[Any, ...], config: dict[str, Any], *, timeout_ms: int
    ) -> Any:
        """Return what the function returns, or raise what it raises.

        Raises:
            TimeoutError: no answer within `timeout_ms` from the start of the call; the child was killed.
            Unavailable: the child died.
        """
        payload = _encode((_reference(operator), arguments, config))
        child_of_call: list[_Child] = []

        def call_in_thread() -> bytes:
            child = self._child()
            child_of_call.append(child)
            return child.call(payload, timeout_ms)

        try:
            answer = await get_running_loop().run_in_executor(self._threads, call_in_thread)
        except CancelledError:
            for child in child_of_call:
                child.kill()
            raise
        is_error, value = pickle.loads(answer)
        if is_error:
            raise value
        return value

    def close(self) -> None:
        """Kill all children and end their threads. Safe to call twice."""
        for child in list(self._children):
            child.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _child(self) -> _Child:
        child: _Child | None = getattr(self._own, "child", None)
        if child is None or not child.is_alive():
            if child is not None:
                self._children.discard(child)
            child = self._own.child = _Child()
            self._children.add(child)
        return child


class _Child:
    """One child process and the parent's end of its pipe."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process: SpawnProcess = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        # With this end closed in the parent, the child's death shows as an end of file.
        theirs.close()
        self._is_started = False

    def is_alive(self) -> bool:
        return self._process.is_alive()

    def call(self, payload: bytes, timeout_ms: int) -> bytes:
        """Return the answer to one payload; blocks."""
        if not self._is_started:
            self._receive(START_S_MAX)
            self._is_started = True
        try:
            self._pipe.send_bytes(payload)
        except OSError as error:
            raise self._died() from error
        return self._receive(timeout_ms / 1_000)

    def kill(self) -> None:
        self._process.kill()
        self._process.join()

    def _receive(self, timeout_s: float) -> bytes:
        try:
            if self._pipe.poll(timeout_s):
                return self._pipe.recv_bytes()
        except (EOFError, OSError) as error:
            raise self._died() from error
        self.kill()
        raise TimeoutError(f"no answer within {round(timeout_s * 1_000)} ms")

    def _died(self) -> Unavailable:
        self.kill()
        return Unavailable("child process died during the call, exit code", value=self._process.exitcode)


def refuse_unimportable(operator: Operator) -> None:
    """Refuse an operator that a child process could not import.

    Raises:
        ConfigError: it is not at module level, or its module is no module of an installed package.
    """
    module, name = _reference(operator)
    advice = "define it at the top of a module that can be imported"
    package = module.partition(".")[0]
    found = getattr(sys.modules.get(module), name, None)
    is_reachable = package == "__main__" or PathFinder.find_spec(package) is not None
    if not is_reachable or found not in (operator, operator.function):
        raise ConfigError(f"task {operator.name!r} runs in a process", value=f"{module}.{name}", advice=advice)


def _reference(operator: Operator) -> tuple[str, str]:
    return operator.function.__module__, operator.function.__qualname__


class _Pickler(pickle.Pickler):
    """Also takes the read-only mappings that items are made of."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, MappingProxyType):
            return freeze, (dict(value),)
        return NotImplemented


def _encode(value: Any) -> bytes:
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return buffer.getvalue()


def _serve(pipe: Connection) -> None:
    """The child's loop: it ends when the parent closes the pipe or dies."""
    pipe.send_bytes(b"")
    while True:
        try:
            payload = pipe.recv_bytes()
        except EOFError:
            return
        pipe.send_bytes(_answer(payload))


def _answer(payload: bytes) -> bytes:
    try:
        (module, name), arguments, config = pickle.loads(payload)
        found = getattr(importlib.import_module(module), name)
        function: Callable[..., Any] = found.function if isinstance(found, Operator) else found
        return _encode((False, function(*arguments, **config)))
    except Exception as error:
        return _encode_error(error)


def _encode_error(error: Exception) -> bytes:
    """Encode an exception; one that does not survive the way there and back goes as text."""
    try:
        encoded = _encode((True, error))
        pickle.loads(encoded)
    except Exception:
        return _encode((True, RuntimeError(f"{type(error).__name__}: {error}")))
    return encoded
