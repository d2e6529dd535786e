"""From a raw content event to a compact one, or to a reason why it is left out."""

from gristmill.recent.core.feed.deciding import DROP_REASONS, DropReason, FeedRules, decide_event, has_video
from gristmill.recent.core.feed.raw import Medium, RawEvent, RawMapping, read_raw

__all__ = [
    "DROP_REASONS",
    "DropReason",
    "FeedRules",
    "Medium",
    "RawEvent",
    "RawMapping",
    "decide_event",
    "has_video",
    "read_raw",
]
