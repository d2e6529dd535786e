"""How processes of one host take turns, wake each other and notice a death: file locks, sockets, shared memory."""

from gristmill.adapters.local_host.disk_probe import DiskTimes, measure_disk
from gristmill.adapters.local_host.doorbell import Doorbell
from gristmill.adapters.local_host.filesystem import NETWORK_FILESYSTEMS, find_filesystem, refuse_network_filesystem
from gristmill.adapters.local_host.marks import RunningMarks, read_marks
from gristmill.adapters.local_host.owners import OwnerLock, new_owner
from gristmill.adapters.local_host.turn import FairTurn

__all__ = [
    "DiskTimes",
    "Doorbell",
    "FairTurn",
    "NETWORK_FILESYSTEMS",
    "OwnerLock",
    "RunningMarks",
    "find_filesystem",
    "measure_disk",
    "new_owner",
    "read_marks",
    "refuse_network_filesystem",
]
