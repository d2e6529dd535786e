-- Shared by all scripts and put in front of each.
--
-- Keys of a topic in a group come in this order: stream, meta, state, held, leased, waiting. `held` keeps one text a
-- record that the group has passed and not accepted: epoch, blank, owner, line feed, attempt, blank, generation, blank,
-- call; so a lease is the begin of that text. `leased` and `waiting` order those with and without an owner by when they
-- come due. The group's pending list in the stream says the same to operators and counts for nothing here.

local PARKED = '~parked'
local CHUNK = 1000
local ZEROS = '000000000000000'

-- Ids of one length sort as text, so what came due together comes in the order of the stream.
local function pad(id)
  local missing = 15 - #id
  if missing > 0 then return ZEROS:sub(1, missing) .. id end
  return id
end

local function number_of(id) return tonumber(id:match('^(%d+)')) end

local function whole(number) return string.format('%d', number) end

local function read_now(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function pack_hold(epoch, attempt, generation, call, owner)
  return whole(epoch) .. ' ' .. owner .. '\n' .. whole(attempt) .. ' ' .. whole(generation) .. ' ' .. call
end

local function unpack_hold(text)
  local epoch, owner, attempt, generation, call = text:match('^(%d+) ([^\n]*)\n(%-?%d+) (%d+) (%d+)$')
  return tonumber(epoch), tonumber(attempt), tonumber(generation), call, owner
end

-- Calls `act` with parts that fit on the stack of the interpreter.
local function in_chunks(values, act)
  for from = 1, #values, CHUNK do
    act(unpack(values, from, math.min(from + CHUNK - 1, #values)))
  end
end

local function values_of(hash, ids)
  local found = {}
  in_chunks(ids, function(...)
    local part = redis.call('HMGET', hash, ...)
    local from = #found
    for index = 1, select('#', ...) do found[from + index] = part[index] end
  end)
  return found
end

local function give_to(stream, group, consumer, ids)
  in_chunks(ids, function(...)
    local arguments = {...}
    arguments[#arguments + 1] = 'FORCE'
    arguments[#arguments + 1] = 'JUSTID'
    redis.call('XCLAIM', stream, group, consumer, 0, unpack(arguments))
  end)
end

local function is_held(text, lease)
  return text and text:sub(1, #lease) == lease
end

-- Reads packed ids and leases. A lease that is named twice is owned once.
local function read_leases(held, packed)
  local ids, leases = unpack(cmsgpack.unpack(packed))
  local owned, seen = {}, {}
  local texts = values_of(held, ids)
  for index, id in ipairs(ids) do
    owned[index] = 0
    if not seen[id] and is_held(texts[index], leases[index]) then
      owned[index] = 1
      seen[id] = texts[index]
    end
  end
  return ids, owned, seen
end

local function finish(stream, group, held, leased, ids)
  in_chunks(ids, function(...)
    redis.call('XACK', stream, group, ...)
    redis.call('HDEL', held, ...)
    redis.call('ZREM', leased, ...)
  end)
end

local function read_entry(stream, id)
  local found = redis.call('XRANGE', stream, id, id)
  return found[1] and found[1][2] or nil
end

-- Records of ours begin with v and t; k, h and d follow where there is a key, headers, or a time before which the record
-- is not delivered.
local function due_of(fields)
  local count = #fields
  if count > 4 and fields[count - 1] == 'd' and fields[1] == 'v' and fields[3] == 't' then
    return tonumber(fields[count]) or 0
  end
  return 0
end

local function appended_at(id, fields)
  return fields[1] == 'v' and fields[3] == 't' and tonumber(fields[4]) or number_of(id)
end

local function count_all(stream, meta)
  local known = redis.call('HMGET', meta, 'last', 'base')
  if known[1] then return tonumber(known[1]) - tonumber(known[2]) end
  if redis.call('EXISTS', stream) == 0 then return 0 end
  local info = redis.call('XINFO', 'STREAM', stream)
  for index = 1, #info, 2 do
    if info[index] == 'entries-added' then return info[index + 1] end
  end
  return redis.call('XLEN', stream)
end

-- Makes a group at the oldest entry, or goes on where somebody else has left one. Answer: cursor, born, false, passed.
local function open_group(stream, meta, state, held, leased, waiting, group)
  local made = redis.pcall('XGROUP', 'CREATE', stream, group, '0')
  local cursor, passed = pad('0-0'), tonumber(redis.call('HGET', meta, 'trimmed') or 0)
  if redis.call('HEXISTS', meta, 'last') == 0 then passed = count_all(stream, meta) - redis.call('XLEN', stream) end
  if made.err then
    for _, info in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
      if info[2] == group then
        cursor = pad(info[8])
        if info[12] then passed = count_all(stream, meta) - info[12] end
      end
    end
  end
  local born = redis.call('HGET', meta, 'trimmed_to') or pad((redis.call('HGET', meta, 'base') or '0') .. '-0')
  redis.call('HSET', state, 'cursor', cursor, 'passed', whole(passed), 'born', born)
  -- Up to some hundred entries a server keeps in one packed list, which it searches from the start for each of a batch.
  -- One long entry, due never, makes it use an index from the beginning: four times as fast for a hundred.
  local long = ('~'):rep(80)
  redis.call('HSET', held, '~', long)
  redis.call('ZADD', leased, '+inf', long)
  redis.call('ZADD', waiting, '+inf', long)
  return {cursor, born, false, whole(passed)}
end

-- Ids of a new topic go on from the milliseconds of its birth: after the loss of a server, or of all its data, none is
-- given a second time, and runs are named after them.
local BIRTH_MS = 1704067200000

-- Says how a stream is written: the id before the next one, or nothing where others write it with ids of their own.
local function read_last(stream, meta, now)
  local last = redis.call('HGET', meta, 'last')
  if last then return tonumber(last) end
  if redis.call('EXISTS', stream) == 1 then return nil end
  local base = math.max(0, now - BIRTH_MS)
  redis.call('HSET', meta, 'base', whole(base), 'last', whole(base))
  return base
end

local function add(stream, id, value, time, more)
  if more then return redis.pcall('XADD', stream, id, 'v', value, 't', time, unpack(more)) end
  return redis.pcall('XADD', stream, id, 'v', value, 't', time)
end

local function list_more(key, headers, due)
  local more = {}
  for name, value in pairs({k = key, h = headers}) do
    if value ~= '' then
      more[#more + 1] = name
      more[#more + 1] = value
    end
  end
  if due then
    more[#more + 1] = 'd'
    more[#more + 1] = due
  end
  return more
end

-- Appends records and returns their ids. `bytes` holds value, key and headers of each, end to end; `packed` the three
-- lengths and the due time of each.
local function append(stream, meta, delayed, now, bytes, packed)
  local ids, time, last = {}, whole(now), read_last(stream, meta, now)
  local numbers, place = cmsgpack.unpack(packed), 1
  for index = 1, #numbers, 4 do
    local key_at = place + numbers[index]
    local headers_at = key_at + numbers[index + 1]
    local value, due_at = bytes:sub(place, key_at - 1), numbers[index + 3]
    place = headers_at + numbers[index + 2]
    local due = due_at > now and whole(due_at)
    local more
    if due or place > key_at then
      more = list_more(bytes:sub(key_at, headers_at - 1), bytes:sub(headers_at, place - 1), due)
    end
    local given = last and (last + #ids + 1) .. '-0' or '*'
    local id = add(stream, given, value, time, more)
    if type(id) == 'table' and last then
      -- Somebody writes this stream with other ids: keep to those from now on.
      redis.call('HDEL', meta, 'last')
      last = nil
      id = add(stream, '*', value, time, more)
    end
    if type(id) == 'table' then error(id.err) end
    if due then redis.call('ZADD', delayed, whole(number_of(id)), pad(id)) end
    ids[#ids + 1] = id
  end
  if last then redis.call('HSET', meta, 'last', whole(last + #ids)) end
  return ids
end
