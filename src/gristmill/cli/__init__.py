"""What a person types and what the answer looks like."""

from gristmill.cli.app import main

__all__ = ["main"]
