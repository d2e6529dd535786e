"""What happened during a test, as lines of JSON, and a judge that finds what must never happen.

Processes record into one file; `check_history` reads it as one story and returns anomalies, none if all is well.
"""

from gristmill.adapters.recording.events import HistoryEvent, HistoryRecorder, read_history
from gristmill.testing.history.check import Anomaly, Bounds, check_fold, check_history

__all__ = ["Anomaly", "Bounds", "HistoryEvent", "HistoryRecorder", "check_fold", "check_history", "read_history"]
