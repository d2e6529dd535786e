"""What keeps a store fit."""

from gristmill.ports.upkeep.retention import Upkeep

__all__ = ["Upkeep"]
