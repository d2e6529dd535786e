"""The operations of version 1, by what they are about."""

from gristmill.api.calls import Operation
from gristmill.api.routes.export import EXPORT_OPERATIONS
from gristmill.api.routes.generators import GENERATOR_OPERATIONS
from gristmill.api.routes.items import ITEM_OPERATIONS
from gristmill.api.routes.labels import LABEL_OPERATIONS
from gristmill.api.routes.letters import DEAD_LETTER_OPERATIONS
from gristmill.api.routes.observe import OBSERVE_OPERATIONS
from gristmill.api.routes.plans import PLAN_OPERATIONS
from gristmill.api.routes.publish import PUBLISH_OPERATIONS
from gristmill.api.routes.score import SCORE_OPERATIONS
from gristmill.api.routes.sources import SOURCE_OPERATIONS
from gristmill.api.routes.subscriptions import SUBSCRIPTION_OPERATIONS
from gristmill.api.routes.tokens import TOKEN_OPERATIONS

__all__ = ["OPERATIONS"]

OPERATIONS: tuple[Operation, ...] = (
    *PUBLISH_OPERATIONS,
    *SCORE_OPERATIONS,
    *ITEM_OPERATIONS,
    *EXPORT_OPERATIONS,
    *LABEL_OPERATIONS,
    *PLAN_OPERATIONS,
    *GENERATOR_OPERATIONS,
    *DEAD_LETTER_OPERATIONS,
    *SOURCE_OPERATIONS,
    *SUBSCRIPTION_OPERATIONS,
    *TOKEN_OPERATIONS,
    *OBSERVE_OPERATIONS,
)
"""Every operation of the API, in the order of its description."""
