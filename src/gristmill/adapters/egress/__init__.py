"""Outgoing HTTP that cannot be talked into reaching inner networks."""

from gristmill.adapters.egress.address_core import AddressPolicy
from gristmill.adapters.egress.client import EgressLimits, EgressMetrics, GuardedEgress

__all__ = ["AddressPolicy", "EgressLimits", "EgressMetrics", "GuardedEgress"]
