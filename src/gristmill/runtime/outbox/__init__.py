"""Sends what was committed to a log that is apart, in the main process of a group."""

from gristmill.runtime.outbox.service import OutboxFace

__all__ = ["OutboxFace"]
