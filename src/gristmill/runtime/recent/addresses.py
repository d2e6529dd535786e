"""Where a role leaves word of its address, in the folder for sockets."""

from __future__ import annotations

__all__ = ["FEED_ADDRESS", "SERVE_ADDRESS"]

SERVE_ADDRESS = "recent.address"
FEED_ADDRESS = "recent-feed.address"
