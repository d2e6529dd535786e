"""`gristmill dlq`: records that were given up, and what to do with them; and those that never became an item."""

from gristmill.cli.commands.letters import closing, listing, mending
from gristmill.cli.commands.letters.app import app

__all__ = ["app", "closing", "listing", "mending"]
