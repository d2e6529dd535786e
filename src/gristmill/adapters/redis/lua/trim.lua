-- Deletes what every group has accepted, at most CHUNK entries looked at.
-- KEYS: stream, meta, delayed, letters by record, then (state, held) a group. ARGV: upto, after, then the groups.
-- Answer: how many went, and where to go on, empty at the end.
local stream, meta, delayed, letters = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
if redis.call('EXISTS', stream) == 0 then return {0, ''} end
local known = {}
for index = 3, #ARGV do known[ARGV[index]] = 5 + (index - 3) * 2 end
local bound, helds, groups = ARGV[1], {}, redis.call('XINFO', 'GROUPS', stream)
if #groups == 0 then return {0, ''} end
for _, info in ipairs(groups) do
  local name, limit = info[2], pad(info[8])
  local place = known[name]
  -- A group that was made a moment ago is asked about at the next trim.
  if not place then return {0, ''} end
  local cursor = redis.call('HGET', KEYS[place], 'cursor')
  if cursor then
    limit = cursor
    helds[#helds + 1] = KEYS[place + 1]
  else
    -- Somebody else's group: it needs everything from its oldest pending entry on.
    local pending = redis.call('XPENDING', stream, name)
    if pending[2] then limit = pad(whole(number_of(pending[2]) - 1) .. '-0') end
  end
  if limit < bound then bound = limit end
end
local from = ARGV[2] == '' and '-' or '(' .. ARGV[2]
local entries = redis.call('XRANGE', stream, from, bound, 'COUNT', CHUNK)
if #entries == 0 then return {0, ''} end
local ids, needed, gone = {}, {}, {}
for index, entry in ipairs(entries) do ids[index] = pad(entry[1]) end
helds[#helds + 1] = letters
for _, held in ipairs(helds) do
  local texts = values_of(held, ids)
  for index = 1, #ids do needed[index] = needed[index] or texts[index] end
end
for index, id in ipairs(ids) do
  if not needed[index] then gone[#gone + 1] = id end
end
if #gone > 0 then
  redis.call('XDEL', stream, unpack(gone))
  redis.call('ZREM', delayed, unpack(gone))
  redis.call('HINCRBY', meta, 'trimmed', #gone)
  local before = redis.call('HGET', meta, 'trimmed_to')
  if not before or before < gone[#gone] then redis.call('HSET', meta, 'trimmed_to', gone[#gone]) end
end
return {#gone, #entries == CHUNK and ids[#ids] or ''}
