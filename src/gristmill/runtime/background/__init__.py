"""Work that the main process does now and then beside everything else, such as renewing credentials."""

from gristmill.runtime.background.service import BackgroundService, BackgroundStatus, Rhythm

__all__ = ["BackgroundService", "BackgroundStatus", "Rhythm"]
