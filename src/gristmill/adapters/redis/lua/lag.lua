-- KEYS: those of a topic in a group, then delayed. ARGV: group, now.
-- Answer: undelivered, in flight, waiting, oldest age, dead, lost.
local stream, meta, state, held, leased, waiting, delayed = unpack(KEYS)
if redis.call('EXISTS', stream) == 0 then return {0, 0, 0, 0, 0, 0} end
local now = read_now(ARGV[2])
local known = redis.call('HMGET', state, 'cursor', 'passed', 'dead', 'lost')
local cursor, oldest = known[1] or pad('0-0'), nil
local undelivered
if known[1] then
  undelivered = count_all(stream, meta) - tonumber(known[2])
  local pending = redis.pcall('XPENDING', stream, ARGV[1])
  if not pending.err and pending[2] then oldest = pending[2] end
else
  undelivered = redis.call('XLEN', stream)
end
local later = redis.call('ZCOUNT', delayed, '(' .. whole(number_of(cursor)), '+inf')
local entry
if oldest then entry = redis.call('XRANGE', stream, oldest, oldest)[1] end
if not entry then entry = redis.call('XRANGE', stream, '(' .. cursor, '+', 'COUNT', 1)[1] end
local function count_held(key, after) return redis.call('ZCOUNT', key, after, '(+inf') end

local in_flight = count_held(leased, '(' .. whole(now))
return {
  math.max(0, undelivered - later),
  in_flight,
  count_held(leased, '-inf') + count_held(waiting, '-inf') - in_flight + later,
  entry and math.max(0, now - appended_at(entry[1], entry[2])) or 0,
  tonumber(known[3] or 0),
  tonumber(known[4] or 0),
}
