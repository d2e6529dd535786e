-- KEYS: those of a topic in a group, then delayed. ARGV: group, now.
-- Answer: undelivered, in flight, waiting, oldest age, dead, lost.
local stream, meta, state, held, leased, waiting, delayed = unpack(KEYS)
if redis.call('EXISTS', stream) == 0 then return {0, 0, 0, 0, 0, 0} end
local now = read_now(ARGV[2])
local known = redis.call('HMGET', state, 'cursor', 'passed', 'dead', 'lost', 'born')
local cursor, oldest = known[1] or pad('0-0'), nil
local undelivered, lost = nil, tonumber(known[4] or 0)
local fresh = redis.call('XRANGE', stream, '(' .. cursor, '+', 'COUNT', 1)[1]
if known[1] then
  undelivered = count_all(stream, meta) - tonumber(known[2])
  local last = tonumber(redis.call('HGET', meta, 'last') or 0)
  if last > 0 then
    -- Ids of ours have no gaps: what is missing before the next entry is gone, though the group has not come there yet.
    local upto = fresh and number_of(fresh[1]) - 1 or last
    local gone = math.max(0, upto - math.max(number_of(cursor), number_of(known[5])))
    undelivered, lost = undelivered - gone, lost + gone
  end
  local pending = redis.pcall('XPENDING', stream, ARGV[1])
  if not pending.err and pending[2] then oldest = pending[2] end
else
  undelivered = redis.call('XLEN', stream)
end
local later = redis.call('ZCOUNT', delayed, '(' .. whole(number_of(cursor)), '+inf')
local entry
if oldest then entry = redis.call('XRANGE', stream, oldest, oldest)[1] end
entry = entry or fresh
local function count_held(key, after) return redis.call('ZCOUNT', key, after, '(+inf') end

local in_flight = count_held(leased, '(' .. whole(now))
return {
  math.max(0, undelivered - later),
  in_flight,
  count_held(leased, '-inf') + count_held(waiting, '-inf') - in_flight + later,
  entry and math.max(0, now - appended_at(entry[1], entry[2])) or 0,
  tonumber(known[3] or 0),
  lost,
}
