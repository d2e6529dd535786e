-- KEYS: those of a topic in a group. ARGV: group, now, lease_ms, leases. Answer: 1 or 0 a lease.
local stream, held, leased = KEYS[1], KEYS[4], KEYS[5]
local until_ms = whole(read_now(ARGV[2]) + tonumber(ARGV[3]))
local ids, owned, texts = read_leases(held, ARGV[4])
local ends, by_owner = {}, {}
for index, id in ipairs(ids) do
  if owned[index] == 1 then
    local _, _, _, _, owner = unpack_hold(texts[id])
    ends[#ends + 1] = until_ms
    ends[#ends + 1] = id
    by_owner[owner] = by_owner[owner] or {}
    table.insert(by_owner[owner], id)
  end
end
in_chunks(ends, function(...) redis.call('ZADD', leased, ...) end)
-- Operators see by the idle time that somebody is still at it; `JUSTID` leaves the delivery count alone.
for owner, part in pairs(by_owner) do give_to(stream, ARGV[1], owner, part) end
return owned
