"""Subscriptions as files, and what is published of them."""

from gristmill.deliver.definitions.catalogue import KIND, Published, load_subscription, publish_subscription
from gristmill.deliver.definitions.reader import read_subscription

__all__ = ["KIND", "Published", "load_subscription", "publish_subscription", "read_subscription"]
