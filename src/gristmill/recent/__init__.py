"""The newest items of the authors that somebody follows, from memory, a moment after they appeared."""

from gristmill.recent.core.answer import ITEM_ROW, Answer, pack_answer
from gristmill.recent.core.event import EVENT_ROW, Event, EventKind, Flag, ItemKind, rows_of
from gristmill.recent.core.frames import decode_frame, encode_frame
from gristmill.recent.core.limits import StoreLimits
from gristmill.recent.core.request import LatestRequest, Place
from gristmill.recent.store import RecentStore

__all__ = [
    "EVENT_ROW",
    "ITEM_ROW",
    "Answer",
    "Event",
    "EventKind",
    "Flag",
    "ItemKind",
    "LatestRequest",
    "Place",
    "RecentStore",
    "StoreLimits",
    "decode_frame",
    "encode_frame",
    "pack_answer",
    "rows_of",
]
