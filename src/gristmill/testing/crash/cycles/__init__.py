"""Numbered records through `gristmill up`, over any log, while processes, connections and servers are hurt."""

from gristmill.testing.crash.cycles.cuts import CutsOutcome, run_cuts
from gristmill.testing.crash.cycles.loop import Outcome, run_cycles

__all__ = ["CutsOutcome", "Outcome", "run_cuts", "run_cycles"]
