-- KEYS: those of a topic in a group. ARGV: group, then (id, epoch, owner) a lease. Answer: 1 or 0 a lease.
local stream, held, leased = KEYS[1], KEYS[4], KEYS[5]
local leases, ids = read_leases(held, 2), {}
for _, lease in ipairs(leases) do
  if lease.is_owned then ids[#ids + 1] = lease.id end
end
finish(stream, ARGV[1], held, leased, ids)
return answers_of(leases)
