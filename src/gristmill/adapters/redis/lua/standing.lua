-- Notes since when a group has stood still behind entries. KEYS: those of a topic in a group. ARGV: group, now.
-- Answer: since when, 0 where it does not: it has read all, something of it is under a lease, or it has moved.
local stream, state, leased = KEYS[1], KEYS[3], KEYS[5]
local now = read_now(ARGV[2])
local known = redis.call('HMGET', state, 'cursor', 'standing_since', 'standing_cursor')
local cursor = known[1]
if not cursor then
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
    if info[2] == ARGV[1] then cursor = pad(info[8]) end
  end
end
local newest = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
local is_behind = cursor and newest and pad(newest[1]) > cursor
if not is_behind or redis.call('ZCOUNT', leased, '(' .. whole(now), '(+inf') > 0 then
  redis.call('HDEL', state, 'standing_since', 'standing_cursor')
  return 0
end
if known[3] == cursor then return tonumber(known[2]) end
redis.call('HSET', state, 'standing_since', whole(now), 'standing_cursor', cursor)
return now
