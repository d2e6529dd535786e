-- KEYS: those of a topic in a group. ARGV: group, owner, limit, lease_ms, now, call, is_retry, scan_max, is_foreign.
-- Answer: milliseconds until something comes due when there is nothing now, negative where nobody can tell; (first, last)
-- of runs of records that vanished unread; then end to end, since a server takes long over lists within lists: id, epoch,
-- attempt, number of fields and values, those themselves, none where the record vanished while it was held. Where the
-- number is -1 the id is its first number alone and value and time follow, all there is of most records.
local stream, meta, state, held, leased, waiting = unpack(KEYS)
local group, owner, limit = ARGV[1], ARGV[2], tonumber(ARGV[3])
local now = read_now(ARGV[5])
local until_ms = whole(now + tonumber(ARGV[4]))
local call, scan_max = ARGV[6], tonumber(ARGV[8])
local is_foreign = ARGV[9] == '1'

-- A server answers nobody while a script runs: one claim moves no more than that, however large the records are.
local BYTES_MAX = 16 * 1024 * 1024
local READ_FIRST = 8
local size = 0

local function measure(fields)
  local value = fields[2]
  if value then size = size + #value end
end

local FAR_MS = 60000

if redis.call('EXISTS', stream) == 0 then return {FAR_MS, {}, {}} end

local known = redis.call('HMGET', state, 'cursor', 'born', 'fresh_first', 'passed')
if not known[1] and is_foreign then
  -- On a stream of others a group that is there already is somebody else's: its records are not ours to take.
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
    if info[2] == group then return redis.error_reply('GROUPTAKEN ' .. group) end
  end
end
if not known[1] then known = open_group(stream, meta, state, held, leased, waiting, group) end
local cursor, born, is_fresh_first = known[1], known[2], known[3] == '1'

local found, found_size, gaps = {}, 0, {}

local function tell(id, number, epoch, attempt, fields)
  local at, count = found_size, #fields
  if number and count == 4 and fields[1] == 'v' and fields[3] == 't' then
    found[at + 1], found[at + 2], found[at + 3], found[at + 4] = number, epoch, attempt, -1
    found[at + 5], found[at + 6] = fields[2], fields[4]
    found_size = at + 6
    return
  end
  found[at + 1], found[at + 2], found[at + 3], found[at + 4] = id, epoch, attempt, count
  for index = 1, count do found[at + 4 + index] = fields[index] end
  found_size = at + 4 + count
end

local function take_again()
  local from = '-'
  while true do
    local page = redis.call('XPENDING', stream, group, from, '+', CHUNK, owner)
    for _, entry in ipairs(page) do
      local id = pad(entry[1])
      local text = redis.call('HGET', held, id)
      if text then
        local epoch, attempt, _, made_by, holder = unpack_hold(text)
        if made_by == call and holder == owner then
          tell(id, nil, epoch, attempt, read_entry(stream, id) or {})
        end
      end
      from = '(' .. entry[1]
    end
    if #page < CHUNK then return end
  end
end

local function take_due(most)
  if most <= 0 then return 0 end
  local due = {}
  for _, key in ipairs({leased, waiting}) do
    local part = redis.call('ZRANGEBYSCORE', key, '-inf', whole(now), 'WITHSCORES', 'LIMIT', 0, most)
    for index = 1, #part, 2 do due[#due + 1] = {part[index], tonumber(part[index + 1])} end
  end
  if #due == 0 then return 0 end
  table.sort(due, function(one, other)
    if one[2] ~= other[2] then return one[2] < other[2] end
    return one[1] < other[1]
  end)
  local ids, holds, ends = {}, {}, {}
  for index = 1, math.min(#due, most) do
    if size >= BYTES_MAX then break end
    local id = due[index][1]
    local epoch, attempt, generation = unpack_hold(redis.call('HGET', held, id))
    local fields = read_entry(stream, id) or {}
    measure(fields)
    ids[#ids + 1] = id
    holds[#holds + 1] = id
    holds[#holds + 1] = pack_hold(epoch + 1, attempt + 1, generation, call, owner)
    ends[#ends + 1] = until_ms
    ends[#ends + 1] = id
    tell(id, nil, epoch + 1, attempt + 1, fields)
  end
  in_chunks(holds, function(...) redis.call('HSET', held, ...) end)
  in_chunks(ids, function(...) redis.call('ZREM', waiting, ...) end)
  in_chunks(ends, function(...) redis.call('ZADD', leased, ...) end)
  give_to(stream, group, owner, ids)
  return #ids
end

local is_dense = redis.call('HEXISTS', meta, 'last') == 1
local passed = 0

local OTHERS_FROM = 2 ^ 40
local known_upto = math.max(number_of(cursor), number_of(born))

-- Ids of ours have no gaps, and only what every group has accepted is trimmed: a gap is a loss.
local function note_gap(upto)
  local count = upto - known_upto
  gaps[#gaps + 1] = {whole(known_upto + 1), whole(upto)}
  redis.call('HINCRBY', state, 'lost', whole(count))
  passed = passed + count
end

local function read_fresh(count)
  local read = redis.pcall('XREADGROUP', 'GROUP', group, owner, 'COUNT', count, 'STREAMS', stream, '>')
  if read and read.err then
    -- Somebody has removed the group, or the stream and made it again: go on where the group was.
    redis.call('XGROUP', 'CREATE', stream, group, cursor)
    read = redis.call('XREADGROUP', 'GROUP', group, owner, 'COUNT', count, 'STREAMS', stream, '>')
  end
  return read and read[1][2] or {}
end

-- An id that is not the one after the last: a loss, or somebody else's.
local function look_at(id)
  local number = tonumber(id:sub(1, 13))
  if number >= OTHERS_FROM or id:sub(14) ~= '-0' then
    -- Somebody else has begun to write this stream, with ids that have gaps.
    redis.call('HDEL', meta, 'last')
    is_dense = false
  elseif number > known_upto then
    if number > known_upto + 1 then note_gap(number - 1) end
    known_upto = number
  end
end

local function take_fresh(most)
  local taken = 0
  local holds, ends, parked, parked_holds, parked_ends = {}, {}, {}, {}, {}
  local fits = READ_FIRST
  local first_hold = pack_hold(1, 1, 0, call, owner)
  local parked_hold = pack_hold(0, 0, 0, '0', '')
  while taken < most and #parked < scan_max and size < BYTES_MAX do
    local entries = read_fresh(math.min(most - taken, fits))
    if #entries == 0 then
      local last = is_dense and tonumber(redis.call('HGET', meta, 'last')) or 0
      if last > number_of(cursor) then
        if last > known_upto then note_gap(last) end
        cursor = pad(whole(last) .. '-0')
      end
      break
    end
    for _, entry in ipairs(entries) do
      local given, fields = entry[1], entry[2]
      local id = pad(given)
      if is_dense then
        if given == (known_upto + 1) .. '-0' then
          known_upto = known_upto + 1
        else
          look_at(id)
        end
      end
      cursor = id
      local due = is_foreign and 0 or due_of(fields)
      if due > now then
        parked[#parked + 1] = id
        parked_holds[#parked_holds + 1] = id
        parked_holds[#parked_holds + 1] = parked_hold
        parked_ends[#parked_ends + 1] = whole(due)
        parked_ends[#parked_ends + 1] = id
      else
        local at = 2 * taken
        holds[at + 1], holds[at + 2] = id, first_hold
        ends[at + 1], ends[at + 2] = until_ms, id
        taken = taken + 1
        tell(id, is_dense and known_upto, 1, 1, fields)
        measure(fields)
      end
    end
    -- How many more there may be is told by how large these were; a fifth more of them than fit does no harm.
    fits = math.max(1, math.floor((BYTES_MAX - size) * 1.2 / (size / math.max(1, taken) + 1)))
  end
  in_chunks(holds, function(...) redis.call('HSET', held, ...) end)
  in_chunks(ends, function(...) redis.call('ZADD', leased, ...) end)
  in_chunks(parked_holds, function(...) redis.call('HSET', held, ...) end)
  in_chunks(parked_ends, function(...) redis.call('ZADD', waiting, ...) end)
  give_to(stream, group, PARKED, parked)
  passed = passed + taken + #parked
  return taken
end

if ARGV[7] == '1' then
  take_again()
  if #found > 0 then return {0, {}, found} end
end

local due_count, fresh_count = 0, 0
if is_fresh_first then
  fresh_count = take_fresh(limit)
  due_count = take_due(limit - fresh_count)
else
  due_count = take_due(limit)
  fresh_count = take_fresh(limit - due_count)
end
if passed > 0 or cursor ~= known[1] then
  redis.call('HSET', state, 'cursor', cursor, 'passed', whole(tonumber(known[4]) + passed))
end
if (due_count > 0) ~= is_fresh_first then
  redis.call('HSET', state, 'fresh_first', due_count > 0 and '1' or '0')
end
local due_in = 0
if #found == 0 then
  due_in = is_dense and FAR_MS or -1
  for _, key in ipairs({leased, waiting}) do
    local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
    if first[2] then due_in = math.min(due_in, tonumber(first[2]) - now) end
  end
end
return {due_in, gaps, found}
