-- Removes members of a group that have been idle for long and hold nothing. KEYS: stream. ARGV: group, idle_ms.
-- Answer: how many.
local members = redis.pcall('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])
if members.err then return 0 end
local count = 0
for _, info in ipairs(members) do
  local name, pending, idle = info[2], info[4], info[6]
  if name ~= PARKED and pending == 0 and idle >= tonumber(ARGV[2]) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], name)
    count = count + 1
  end
end
return count
