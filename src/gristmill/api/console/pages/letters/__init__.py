"""Records that were given up: by cause, one by one, mended, and those that were closed."""

from gristmill.api.console.pages.letters.causes import CAUSE_PAGES
from gristmill.api.console.pages.letters.closed import CLOSED_PAGES
from gristmill.api.console.pages.letters.letter import LETTER_PAGES

__all__ = ["DEAD_LETTER_PAGES"]

DEAD_LETTER_PAGES = (*CAUSE_PAGES, *CLOSED_PAGES, *LETTER_PAGES)
