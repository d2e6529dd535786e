"""Item ids: issued from segments with a double buffer, and found again by what the outside world calls an item."""

from gristmill.intake.ids.segment_ids import SegmentIds

__all__ = ["SegmentIds"]
