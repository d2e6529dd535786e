"""Takes content in at the door: mapped and checked before it is answered, durable when it is."""

from gristmill.intake.publish.native import NATIVE, attribute, native_generator
from gristmill.intake.publish.publisher import Accepted, Door, KeyReused, Publisher, Refused

__all__ = ["NATIVE", "Accepted", "Door", "KeyReused", "Publisher", "Refused", "attribute", "native_generator"]
