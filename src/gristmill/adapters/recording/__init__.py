"""Wraps a log and a state so that what they do is written down as a history. For tests of whole process groups."""

from gristmill.adapters.recording.events import EventKind, HistoryEvent, HistoryRecorder, read_history
from gristmill.adapters.recording.wrappers import RecordingLog, RecordingState, RecordingStore

__all__ = [
    "EventKind",
    "HistoryEvent",
    "HistoryRecorder",
    "RecordingLog",
    "RecordingState",
    "RecordingStore",
    "read_history",
]
