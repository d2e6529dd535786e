-- KEYS: those of a topic in a group. ARGV: group, now, delay_ms, is_counted, channel, topic, then (id, epoch, owner) a
-- lease. Answer: 1 or 0 a lease.
local stream, held, leased, waiting = KEYS[1], KEYS[4], KEYS[5], KEYS[6]
local due = whole(read_now(ARGV[2]) + tonumber(ARGV[3]))
local back = ARGV[4] == '1' and 0 or 1
local leases = read_leases(held, 7)
local ids, holds, ends = {}, {}, {}
for _, lease in ipairs(leases) do
  if lease.is_owned then
    ids[#ids + 1] = lease.id
    holds[#holds + 1] = lease.id
    holds[#holds + 1] = pack_hold(lease.epoch, lease.attempt - back, lease.generation, '0', '')
    ends[#ends + 1] = due
    ends[#ends + 1] = lease.id
  end
end
if #ids > 0 then
  in_chunks(holds, function(...) redis.call('HSET', held, ...) end)
  in_chunks(ids, function(...) redis.call('ZREM', leased, ...) end)
  in_chunks(ends, function(...) redis.call('ZADD', waiting, ...) end)
  give_to(stream, ARGV[1], PARKED, ids)
  redis.call('PUBLISH', ARGV[5], ARGV[6])
end
return answers_of(leases)
