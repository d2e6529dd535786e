-- KEYS: those of a topic in a group. ARGV: group, leases. Answer: 1 or 0 a lease.
local stream, held, leased = KEYS[1], KEYS[4], KEYS[5]
local ids, owned = read_leases(held, ARGV[2])
local gone = {}
for index, id in ipairs(ids) do
  if owned[index] == 1 then gone[#gone + 1] = id end
end
finish(stream, ARGV[1], held, leased, gone)
return owned
