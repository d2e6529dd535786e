-- Appends records that stand for rows of an outbox, each once: its marker holds its id until the row is forgotten, and has
-- no time of its own, since whoever sends may be gone for as long as it likes before it asks again.
-- KEYS: stream, meta, delayed, then a marker a record. ARGV: now, channel, topic, cap, then bytes and numbers a record.
-- Answer: the ids.
local now, ids, is_news = read_now(ARGV[1]), {}, false
for index = 4, #KEYS do
  local known = redis.call('GET', KEYS[index])
  if not known then
    local place = 5 + (index - 4) * 2
    known = append(KEYS[1], KEYS[2], KEYS[3], now, ARGV[place], ARGV[place + 1])[1]
    redis.call('SET', KEYS[index], known)
    is_news = true
  end
  ids[#ids + 1] = known
end
if is_news then
  if ARGV[4] ~= '0' then redis.call('XTRIM', KEYS[1], 'MAXLEN', '~', ARGV[4]) end
  redis.call('PUBLISH', ARGV[2], ARGV[3])
end
return ids
