-- KEYS: those of a topic in a group, then letter, open letters, letters by record.
-- ARGV: dead id, is_requeued, now, channel, topic. Answer: 1 when the letter was open.
local stream, state, held, waiting = KEYS[1], KEYS[3], KEYS[4], KEYS[6]
if redis.call('ZREM', KEYS[8], ARGV[1]) == 0 then return 0 end
local letter = redis.call('HMGET', KEYS[7], 'group', 'id', 'epoch', 'generation')
local group, id = letter[1], letter[2]
redis.call('DEL', KEYS[7])
redis.call('HINCRBY', state, 'dead', -1)
if redis.call('HINCRBY', KEYS[9], id, -1) <= 0 then redis.call('HDEL', KEYS[9], id) end
if ARGV[2] == '1' then
  redis.call('HSET', held, id, pack_hold(tonumber(letter[3]), 0, tonumber(letter[4]) + 1, '0', ''))
  redis.call('ZADD', waiting, whole(read_now(ARGV[3])), id)
  give_to(stream, group, PARKED, {id})
  redis.call('PUBLISH', ARGV[4], ARGV[5])
end
return 1
