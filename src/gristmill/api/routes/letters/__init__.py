"""Records that were given up, looked at, mended, and brought back or dropped; and those that never became an item."""

from gristmill.api.routes.letters.closed import CLOSED_OPERATIONS
from gristmill.api.routes.letters.listing import LISTING_OPERATIONS
from gristmill.api.routes.letters.many import MANY_OPERATIONS
from gristmill.api.routes.letters.quarantine import QUARANTINE_OPERATIONS
from gristmill.api.routes.letters.steering import LETTER_STEERING_OPERATIONS

__all__ = ["DEAD_LETTER_OPERATIONS"]

DEAD_LETTER_OPERATIONS = (
    *LISTING_OPERATIONS,
    *LETTER_STEERING_OPERATIONS,
    *MANY_OPERATIONS,
    *CLOSED_OPERATIONS,
    *QUARANTINE_OPERATIONS,
)
