"""What the desk stands on."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from gristmill.api.problems import problem
from gristmill.domain.log import DeadLetter
from gristmill.engine.scoring import Scorer
from gristmill.engine.work.admit import Decode
from gristmill.plans.plan import Generator
from gristmill.plans.registry import RegisteredPlan
from gristmill.ports.clock import Clock
from gristmill.ports.log import Log
from gristmill.ports.upkeep.closings import Closings

__all__ = ["Desk"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Desk:
    """Works on any log.

    Attributes:
        generators: by type, whose records can be edited and tried here.
        decode: maps a record the way an engine does.
        plans: by plan key, what the scorer can run.
    """

    log: Log
    closings: Closings
    clock: Clock
    decode: Decode
    scorer: Scorer
    generators: Mapping[str, Generator]
    plans: Mapping[str, RegisteredPlan]

    def generator_of(self, letter: DeadLetter) -> Generator:
        """Return whose record was given up.

        Raises:
            ProblemRaised: `conflict`: nothing here knows what such a record has to look like.
        """
        generator = self.generators.get(letter.group)
        if generator is None:
            advice = "so nobody knows its schema: requeue or drop the letter"
            raise problem("conflict", f"no generator here is called {letter.group!r}, {advice}")
        return generator
