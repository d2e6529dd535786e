-- KEYS: stream, meta, delayed, token. ARGV: now, channel, topic, ttl_ms, cap, bytes and numbers of the records.
-- Answer: the ids, or the first alone where the others follow it. A repeated call with the same token gets the first answer
-- and adds nothing.
local known = redis.call('GET', KEYS[4])
if known then return known end
local now, cap = read_now(ARGV[1]), ARGV[5]
local ids = append(KEYS[1], KEYS[2], KEYS[3], now, ARGV[6], ARGV[7])
if cap ~= '0' then redis.call('XTRIM', KEYS[1], 'MAXLEN', '~', cap) end
local answer = ids[1]
if number_of(ids[#ids]) - number_of(ids[1]) ~= #ids - 1 or ids[#ids]:sub(-2) ~= '-0' then
  answer = table.concat(ids, ' ')
end
redis.call('SET', KEYS[4], answer, 'PX', ARGV[4])
redis.call('PUBLISH', ARGV[2], ARGV[3])
return answer
