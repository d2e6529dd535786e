"""How far every group is behind, as numbers: also of groups that nobody claims for."""

from gristmill.runtime.lag.service import LagFace, LagWatch

__all__ = ["LagFace", "LagWatch"]
