"""A state folder as one file, and back."""

from gristmill.runtime.backup.restoring import Restored, restore_backup
from gristmill.runtime.backup.taking import Taken, take_backup

__all__ = ["Restored", "Taken", "restore_backup", "take_backup"]
