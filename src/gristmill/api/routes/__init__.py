"""The operations of version 1, by what they are about."""

from gristmill.api.calls import Operation
from gristmill.api.routes.items import ITEM_OPERATIONS
from gristmill.api.routes.observe import OBSERVE_OPERATIONS

__all__ = ["OPERATIONS"]

OPERATIONS: tuple[Operation, ...] = (*ITEM_OPERATIONS, *OBSERVE_OPERATIONS)
"""Every operation of the API, in the order of its description."""
