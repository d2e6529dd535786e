-- KEYS: stream, meta, delayed, token. ARGV: now, channel, topic, ttl_ms, cap, then (value, key, headers, due) a record.
-- A repeated call with the same token gets the first answer and adds nothing.
local known = redis.call('GET', KEYS[4])
if known then return known end
local now = read_now(ARGV[1])
local ids = {}
for index = 6, #ARGV, 4 do
  local cap = index + 4 > #ARGV and tonumber(ARGV[5]) or 0
  ids[#ids + 1] = add(KEYS[1], KEYS[2], KEYS[3], now, ARGV[index], ARGV[index + 1], ARGV[index + 2], ARGV[index + 3], cap)
end
local answer = ids[1]
if number_of(ids[#ids]) - number_of(ids[1]) ~= #ids - 1 or ids[#ids]:sub(-2) ~= '-0' then
  answer = table.concat(ids, ' ')
end
redis.call('SET', KEYS[4], answer, 'PX', ARGV[4])
redis.call('PUBLISH', ARGV[2], ARGV[3])
return answer
