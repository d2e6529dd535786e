"""Recent items over HTTP: an application of its own, since each instance of the store is a process of its own."""

from gristmill.api.recent.admission import Admission
from gristmill.api.recent.operations import RECENT_OPERATIONS
from gristmill.api.recent.services import ProbeServices, RecentServices
from gristmill.api.routes.observe import OBSERVE_OPERATIONS

__all__ = ["OBSERVE_OPERATIONS", "RECENT_OPERATIONS", "Admission", "ProbeServices", "RecentServices"]
