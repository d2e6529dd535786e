"""The public test kit: how anyone proves a task, a plan or an adapter. No room imports it."""

from gristmill.testing.tasks import run_task

__all__ = ["run_task"]
