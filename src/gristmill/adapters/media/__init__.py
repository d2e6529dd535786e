"""Pictures: guarded fetching, decoding in limited child processes, and models that look at them.

Nothing of the extra `media` is imported before the first picture.
"""

from gristmill.adapters.media.fetcher import FetchLimits, GuardedFetcher
from gristmill.adapters.media.not_installed import NothingInstalled, is_media_installed
from gristmill.adapters.media.open_nsfw import OpenNsfw
from gristmill.adapters.media.reader import ChildImageReader, ReaderLimits, ReaderMetrics

__all__ = [
    "ChildImageReader",
    "FetchLimits",
    "GuardedFetcher",
    "NothingInstalled",
    "OpenNsfw",
    "ReaderLimits",
    "ReaderMetrics",
    "is_media_installed",
]
