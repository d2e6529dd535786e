"""What a Runner hands to the function that works on its records, and what it wants back."""

from gristmill.ports.handling.run import Handler, Handling
from gristmill.ports.handling.token import CancelToken

__all__ = ["CancelToken", "Handler", "Handling"]
