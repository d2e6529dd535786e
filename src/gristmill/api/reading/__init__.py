"""Gathers what is stored about items, for every face: HTTP, console and command line. Needs no web framework."""

from gristmill.api.reading.dossier import Dossier, read_dossier
from gristmill.api.reading.explore import Exploration, explore_items
from gristmill.api.reading.search import FoundItem, ItemFilter, ItemPage, search_items
from gristmill.domain.front.standing import Standing, decide_status, latest_runs

__all__ = [
    "Dossier",
    "Exploration",
    "FoundItem",
    "ItemFilter",
    "ItemPage",
    "Standing",
    "decide_status",
    "explore_items",
    "latest_runs",
    "read_dossier",
    "search_items",
]
