"""Subscriptions: who is told what, how it goes, and how it is steered."""

from gristmill.api.routes.subscriptions.publishing import PUBLISHING_OPERATIONS
from gristmill.api.routes.subscriptions.steering import STEERING_OPERATIONS

__all__ = ["SUBSCRIPTION_OPERATIONS"]

SUBSCRIPTION_OPERATIONS = (*PUBLISHING_OPERATIONS, *STEERING_OPERATIONS)
