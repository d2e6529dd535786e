"""The Runner: drives one Group of a log with an async function; what it needs to know and what it counts."""

from gristmill.engine.runner.metrics import RunnerMetrics
from gristmill.engine.runner.runner import Runner
from gristmill.engine.runner.service import DrivenGroup, RunnerService
from gristmill.engine.runner.settings import RunnerSettings

__all__ = ["DrivenGroup", "Runner", "RunnerMetrics", "RunnerService", "RunnerSettings"]
