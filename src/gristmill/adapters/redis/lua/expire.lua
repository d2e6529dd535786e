-- Deletes entries of a lossy topic that are too old, at most some at once. KEYS: stream. ARGV: now, age_ms.
-- Answer: how many, and 1 where there may be more.
local ENTRIES_MAX = 100
local before = read_now(ARGV[1]) - tonumber(ARGV[2])
local entries = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ENTRIES_MAX)
local old = {}
for _, entry in ipairs(entries) do
  if appended_at(entry[1], entry[2]) >= before then break end
  old[#old + 1] = entry[1]
end
if #old == 0 then return {0, 0} end
return {redis.call('XDEL', KEYS[1], unpack(old)), #old == ENTRIES_MAX and 1 or 0}
