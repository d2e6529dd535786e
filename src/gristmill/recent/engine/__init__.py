"""Holds the items in memory; how they are kept is an engine's own business."""

from gristmill.recent.engine.engine import Counts, Engine, Found, Held, Removed, Sizes
from gristmill.recent.engine.numpy_engine import NumpyEngine

__all__ = ["Counts", "Engine", "Found", "Held", "NumpyEngine", "Removed", "Sizes"]
