-- KEYS: those of a topic in a group, then letter, open letters, letters by record, letters seen.
-- ARGV: group, id, lease, now, dead id, diagnosis, seen_max. Answer: written, already or lost.
local stream, state, held, leased = KEYS[1], KEYS[3], KEYS[4], KEYS[5]
local group, id = ARGV[1], ARGV[2]
local mark = table.concat({group, id, ARGV[3]}, '\n')
local text = redis.call('HGET', held, id)
if not is_held(text, ARGV[3]) then
  return redis.call('ZSCORE', KEYS[10], mark) and 'already' or 'lost'
end
local epoch, attempt, generation = unpack_hold(text)
local now = whole(read_now(ARGV[4]))
redis.call('HSET', KEYS[7], 'group', group, 'id', id, 'epoch', whole(epoch), 'attempt', whole(attempt),
  'generation', whole(generation), 'failed_at_ms', now, 'diagnosis', ARGV[6])
redis.call('ZADD', KEYS[8], ARGV[5], ARGV[5])
redis.call('HINCRBY', KEYS[9], id, 1)
redis.call('ZADD', KEYS[10], now, mark)
redis.call('ZREMRANGEBYRANK', KEYS[10], 0, -1 - tonumber(ARGV[7]))
redis.call('HINCRBY', state, 'dead', 1)
if not read_entry(stream, id) then redis.call('HINCRBY', state, 'lost', 1) end
finish(stream, group, held, leased, {id})
return 'written'
