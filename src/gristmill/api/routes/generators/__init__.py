"""Generators one by one: shown with their partitions, paused, resumed, weighed and moved."""

from gristmill.api.routes.generators.steering import STEERING_OPERATIONS
from gristmill.api.routes.generators.viewing import VIEWING_OPERATIONS, WHOLE, find_generator, view_generator

__all__ = ["GENERATOR_OPERATIONS", "WHOLE", "find_generator", "view_generator"]

GENERATOR_OPERATIONS = (*VIEWING_OPERATIONS, *STEERING_OPERATIONS)
