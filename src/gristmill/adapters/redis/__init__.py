"""The log on Redis Streams: for several hosts, or beside other programs that speak Redis. Needs the extra `redis`."""

from gristmill.adapters.redis.cache import RedisCache
from gristmill.adapters.redis.log import RedisLog
from gristmill.adapters.redis.outlet import RedisOutlet
from gristmill.adapters.redis.server import RedisServer, RedisTarget

__all__ = ["RedisCache", "RedisLog", "RedisOutlet", "RedisServer", "RedisTarget"]
