"""What an installation lets go of, by its settings, and the service of the main process that does it."""

from gristmill.runtime.retention.rules import rules_of
from gristmill.runtime.retention.service import RetentionFace

__all__ = ["RetentionFace", "rules_of"]
