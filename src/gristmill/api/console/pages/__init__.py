"""The pages of the console, by what they are about."""

from gristmill.api.console.page import Page
from gristmill.api.console.pages.dead_letters import DEAD_LETTER_PAGES
from gristmill.api.console.pages.jump import JUMP_PAGES
from gristmill.api.console.pages.overview import OVERVIEW_PAGES
from gristmill.api.console.pages.session import SESSION_PAGES

__all__ = ["PAGES"]

PAGES: tuple[Page, ...] = (
    *SESSION_PAGES,
    *OVERVIEW_PAGES,
    *DEAD_LETTER_PAGES,
    *JUMP_PAGES,
)
