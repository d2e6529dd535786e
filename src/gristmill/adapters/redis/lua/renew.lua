-- KEYS: those of a topic in a group. ARGV: group, now, lease_ms, then (id, epoch, owner) a lease. Answer: 1 or 0 a lease.
local stream, held, leased = KEYS[1], KEYS[4], KEYS[5]
local until_ms = whole(read_now(ARGV[2]) + tonumber(ARGV[3]))
local leases = read_leases(held, 4)
local ends, by_owner = {}, {}
for _, lease in ipairs(leases) do
  if lease.is_owned then
    ends[#ends + 1] = until_ms
    ends[#ends + 1] = lease.id
    by_owner[lease.owner] = by_owner[lease.owner] or {}
    table.insert(by_owner[lease.owner], lease.id)
  end
end
in_chunks(ends, function(...) redis.call('ZADD', leased, ...) end)
-- Operators see by the idle time that somebody is still at it; `JUSTID` leaves the delivery count alone.
for owner, ids in pairs(by_owner) do give_to(stream, ARGV[1], owner, ids) end
return answers_of(leases)
