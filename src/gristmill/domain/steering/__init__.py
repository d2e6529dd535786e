"""What people do to a group of a log: hold it, weigh it, set it back or ahead."""

from gristmill.domain.steering.orders import Orders
from gristmill.domain.steering.places import PartitionLag, SeekTo, Sought
from gristmill.domain.steering.reading import PLACE_ADVICE, read_place

__all__ = ["PLACE_ADVICE", "Orders", "PartitionLag", "SeekTo", "Sought", "read_place"]
