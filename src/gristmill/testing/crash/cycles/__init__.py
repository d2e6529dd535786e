"""Numbered records through `gristmill up`, over any log, while processes, connections and servers are hurt."""

from gristmill.testing.crash.cycles.grounds import Ground, KafkaGround, RedisGround, SqliteGround, open_ground
from gristmill.testing.crash.cycles.loop import Outcome, run_cycles

__all__ = ["Ground", "KafkaGround", "Outcome", "RedisGround", "SqliteGround", "open_ground", "run_cycles"]
