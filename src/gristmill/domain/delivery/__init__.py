"""Subscriptions, how far each has come, and what happened when something was sent."""

from gristmill.domain.delivery.progress import Attempt, Progress, ProgressStatus
from gristmill.domain.delivery.subscription import POINTS, TOPIC_PREFIX, Order, Point, Subscription

__all__ = [
    "POINTS",
    "TOPIC_PREFIX",
    "Attempt",
    "Order",
    "Point",
    "Progress",
    "ProgressStatus",
    "Subscription",
]
