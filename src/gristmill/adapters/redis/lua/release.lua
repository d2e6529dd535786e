-- KEYS: those of a topic in a group. ARGV: group, now, delay_ms, is_counted, channel, topic, leases.
-- Answer: 1 or 0 a lease.
local stream, held, leased, waiting = KEYS[1], KEYS[4], KEYS[5], KEYS[6]
local due = whole(read_now(ARGV[2]) + tonumber(ARGV[3]))
local back = ARGV[4] == '1' and 0 or 1
local ids, owned, texts = read_leases(held, ARGV[7])
local freed, holds, ends = {}, {}, {}
for index, id in ipairs(ids) do
  if owned[index] == 1 then
    local epoch, attempt, generation = unpack_hold(texts[id])
    freed[#freed + 1] = id
    holds[#holds + 1] = id
    holds[#holds + 1] = pack_hold(epoch, attempt - back, generation, '0', '')
    ends[#ends + 1] = due
    ends[#ends + 1] = id
  end
end
if #freed > 0 then
  in_chunks(holds, function(...) redis.call('HSET', held, ...) end)
  in_chunks(freed, function(...) redis.call('ZREM', leased, ...) end)
  in_chunks(ends, function(...) redis.call('ZADD', waiting, ...) end)
  give_to(stream, ARGV[1], PARKED, freed)
  redis.call('PUBLISH', ARGV[5], ARGV[6])
end
return owned
