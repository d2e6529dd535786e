"""The pages of the console, by what they are about."""

from gristmill.api.console.page import Page
from gristmill.api.console.pages.items import ITEM_PAGES
from gristmill.api.console.pages.jump import JUMP_PAGES
from gristmill.api.console.pages.letters import DEAD_LETTER_PAGES
from gristmill.api.console.pages.overview import OVERVIEW_PAGES
from gristmill.api.console.pages.session import SESSION_PAGES
from gristmill.api.console.pages.sources import SOURCE_PAGES
from gristmill.api.console.pages.subscriptions import SUBSCRIPTION_PAGES
from gristmill.api.console.pages.trace import TRACE_PAGES

__all__ = ["PAGES"]

PAGES: tuple[Page, ...] = (
    *SESSION_PAGES,
    *OVERVIEW_PAGES,
    *SOURCE_PAGES,
    *ITEM_PAGES,
    *TRACE_PAGES,
    *DEAD_LETTER_PAGES,
    *SUBSCRIPTION_PAGES,
    *JUMP_PAGES,
)
