"""What people do to a group of a log: hold it, weigh it, set it back or ahead."""

from gristmill.domain.steering.orders import Orders
from gristmill.domain.steering.places import PartitionLag, SeekTo, Sought

__all__ = ["Orders", "PartitionLag", "SeekTo", "Sought"]
