"""Simulates whole groups on one thread in virtual time: a seed draws what goes wrong, and replays it to the step.

    machine    time as a number, order drawn, processes that die or freeze, links and stores that fail
    scenario   what a seed means
    world      stores, dispatchers, engines, and what happens to them
    judge      what must be true at the end

`python -m gristmill.testing.simulate --seeds 1-1000` runs many.
"""

from gristmill.testing.simulate.run import Report, explain, quiet_logs, run_scenario, run_seed
from gristmill.testing.simulate.world import Parts

__all__ = ["Parts", "Report", "explain", "quiet_logs", "run_scenario", "run_seed"]
