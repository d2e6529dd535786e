"""Deliveries in the main process, and the ways out that they and the API share."""

from gristmill.runtime.delivery.service import DeliveryFace, build_sending

__all__ = ["DeliveryFace", "build_sending"]
