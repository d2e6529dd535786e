-- KEYS: those of a topic in a group. ARGV: id, key. Answer: 1 where the group has passed an earlier record of that key and
-- is not done with it, else 0.
local stream, leased, waiting = KEYS[1], KEYS[5], KEYS[6]
local id, key = ARGV[1], ARGV[2]

local function has_key(fields)
  if not fields or fields[3] ~= 't' then return false end
  for index = 5, #fields, 2 do
    if fields[index] == 'k' then return fields[index + 1] == key end
  end
  return false
end

for _, set in ipairs({leased, waiting}) do
  for _, other in ipairs(redis.call('ZRANGE', set, 0, -1)) do
    if other < id and has_key(read_entry(stream, other)) then return 1 end
  end
end
return 0
