-- Deletes what every group has accepted, at most CHUNK entries looked at.
-- KEYS: stream, meta, delayed, letters by record, then (state, held) a group.
-- ARGV: upto, after, number of groups that hold nothing back, then those, then all groups.
-- Answer: how many went, and where to go on, empty at the end.
local stream, meta, delayed, letters = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
if redis.call('EXISTS', stream) == 0 then return {0, ''} end
local known, let_go, groups_at = {}, {}, 4 + tonumber(ARGV[3])
for index = 4, groups_at - 1 do let_go[ARGV[index]] = true end
for index = groups_at, #ARGV do known[ARGV[index]] = 5 + (index - groups_at) * 2 end
local bound, helds, groups = ARGV[1], {}, redis.call('XINFO', 'GROUPS', stream)
local holding = 0
for _, info in ipairs(groups) do holding = holding + (let_go[info[2]] and 0 or 1) end
if holding == 0 then return {0, ''} end
for _, info in ipairs(groups) do
  local name, limit = info[2], pad(info[8])
  local place = known[name]
  -- A group that was made a moment ago is asked about at the next trim.
  if not place then return {0, ''} end
  local cursor = not let_go[name] and redis.call('HGET', KEYS[place], 'cursor')
  if let_go[name] then
    limit = bound
  elseif cursor then
    limit = cursor
    helds[#helds + 1] = KEYS[place + 1]
  else
    -- Somebody else's group: it needs everything from its oldest pending entry on.
    local pending = redis.call('XPENDING', stream, name)
    if pending[2] then limit = pad(whole(number_of(pending[2]) - 1) .. '-0') end
  end
  if limit < bound then bound = limit end
end
-- Ids of ours are counted through, so that no value is touched; those of others have to be read.
local FOREIGN_COUNT = 100
local last = redis.call('HGET', meta, 'last')
local ids, following = {}, ''
if last then
  local front = tonumber(redis.call('HGET', meta, 'front') or redis.call('HGET', meta, 'base')) + 1
  local from = ARGV[2] == '' and front or number_of(ARGV[2]) + 1
  local upto = math.min(number_of(bound), tonumber(last), from + CHUNK - 1)
  for number = from, upto do ids[#ids + 1] = pad(whole(number) .. '-0') end
  if #ids == CHUNK then following = ids[#ids] end
else
  local from = ARGV[2] == '' and '-' or '(' .. ARGV[2]
  for _, entry in ipairs(redis.call('XRANGE', stream, from, bound, 'COUNT', FOREIGN_COUNT)) do
    ids[#ids + 1] = pad(entry[1])
  end
  if #ids == FOREIGN_COUNT then following = ids[#ids] end
end
if #ids == 0 then return {0, ''} end
helds[#helds + 1] = letters
local needed, gone, first_needed = {}, {}, nil
for _, held in ipairs(helds) do
  local texts = values_of(held, ids)
  for index = 1, #ids do needed[index] = needed[index] or texts[index] end
end
for index, id in ipairs(ids) do
  if needed[index] then
    first_needed = first_needed or id
  else
    gone[#gone + 1] = id
  end
end
local count = 0
if #gone > 0 then
  count = redis.call('XDEL', stream, unpack(gone))
  redis.call('ZREM', delayed, unpack(gone))
  redis.call('HINCRBY', meta, 'trimmed', count)
  local before = redis.call('HGET', meta, 'trimmed_to')
  if not before or before < gone[#gone] then redis.call('HSET', meta, 'trimmed_to', gone[#gone]) end
end
if last and number_of(ids[1]) == tonumber(redis.call('HGET', meta, 'front') or redis.call('HGET', meta, 'base')) + 1 then
  -- All below is gone for good: the next trim begins behind it.
  redis.call('HSET', meta, 'front', whole(number_of(first_needed or ids[#ids]) - (first_needed and 1 or 0)))
end
return {count, following}
