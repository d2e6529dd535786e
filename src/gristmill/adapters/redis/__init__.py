"""The log on Redis Streams: for several hosts, or beside other programs that speak Redis. Needs the extra `redis`."""

from gristmill.adapters.redis.inlet import LogApartInlet
from gristmill.adapters.redis.log import RedisLog
from gristmill.adapters.redis.server import RedisServer, RedisTarget

__all__ = ["LogApartInlet", "RedisLog", "RedisServer", "RedisTarget"]
