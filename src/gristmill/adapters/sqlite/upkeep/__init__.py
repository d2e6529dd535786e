"""What keeps a store fit beside its daily work: copies of it while others write, and what is done after a restore."""

from gristmill.adapters.sqlite.upkeep.compacting import compact_store
from gristmill.adapters.sqlite.upkeep.copying import CopiedStore, copy_database, copy_store
from gristmill.adapters.sqlite.upkeep.fitting import Fitted, fit_restored

__all__ = ["CopiedStore", "Fitted", "compact_store", "copy_database", "copy_store", "fit_restored"]
