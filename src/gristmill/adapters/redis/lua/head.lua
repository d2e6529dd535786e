-- Shared by all scripts and put in front of each.
--
-- Keys of a topic in a group come in this order: stream, meta, state, held, leased, waiting. `held` keeps one text a
-- record that the group has passed and not accepted, "epoch attempt generation call owner"; `leased` and `waiting` order
-- those with and without an owner by when they come due. The group's pending list in the stream says the same to
-- operators and counts for nothing here.

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
  return whole(epoch) .. ' ' .. whole(attempt) .. ' ' .. whole(generation) .. ' ' .. call .. ' ' .. owner
end

local function unpack_hold(text)
  local epoch, attempt, generation, call, owner = text:match('^(%d+) (%-?%d+) (%d+) (%d+) (.*)$')
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

local function owns(text, epoch, owner)
  if not text or owner == '' then return false end
  local held_epoch, attempt, generation, _, held_owner = unpack_hold(text)
  if held_epoch ~= epoch or held_owner ~= owner then return false end
  return true, attempt, generation
end

-- Reads leases as (id, epoch, owner) from `from` on; a lease that is named twice is owned once.
local function read_leases(held, from)
  local leases, ids = {}, {}
  for index = from, #ARGV, 3 do
    leases[#leases + 1] = {id = ARGV[index], epoch = tonumber(ARGV[index + 1]), owner = ARGV[index + 2]}
    ids[#ids + 1] = ARGV[index]
  end
  local texts, seen = values_of(held, ids), {}
  for index, lease in ipairs(leases) do
    if not seen[lease.id] then
      lease.is_owned, lease.attempt, lease.generation = owns(texts[index], lease.epoch, lease.owner)
      seen[lease.id] = lease.is_owned
    end
  end
  return leases
end

local function answers_of(leases)
  local answers = {}
  for index, lease in ipairs(leases) do answers[index] = lease.is_owned and 1 or 0 end
  return answers
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

-- Records of ours have their fields in a fixed order: v, k, h, t, and d when they are due later.
local function due_of(fields)
  if #fields == 10 and fields[9] == 'd' then return tonumber(fields[10]) end
  return 0
end

local function appended_at(id, fields)
  if #fields >= 8 and fields[7] == 't' then return tonumber(fields[8]) end
  return number_of(id)
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

-- Ids of a new topic go on from the milliseconds of its birth: after the loss of a server, or of all its data, none is
-- given a second time, and runs are named after them.
local BIRTH_MS = 1704067200000

-- Adds one record and returns its id. A stream that others write to with ids of their own keeps to those.
local function add(stream, meta, delayed, now, value, key, headers, due, cap)
  local arguments = {'v', value, 'k', key, 'h', headers, 't', whole(now)}
  local due_at = tonumber(due)
  if due_at > now then
    arguments[9], arguments[10] = 'd', whole(due_at)
  end
  local options = {}
  if cap > 0 then options = {'MAXLEN', '~', whole(cap)} end
  local id
  local is_ours = redis.call('HEXISTS', meta, 'last') == 1
  if not is_ours and redis.call('EXISTS', stream) == 0 then
    local base = whole(math.max(0, now - BIRTH_MS))
    redis.call('HSET', meta, 'base', base, 'last', base)
    is_ours = true
  end
  if is_ours then
    options[#options + 1] = whole(redis.call('HINCRBY', meta, 'last', 1)) .. '-0'
    for _, argument in ipairs(arguments) do options[#options + 1] = argument end
    id = redis.pcall('XADD', stream, unpack(options))
    if type(id) == 'table' then
      redis.call('HDEL', meta, 'last')
      options[#options - #arguments] = '*'
      id = redis.call('XADD', stream, unpack(options))
    end
  else
    options[#options + 1] = '*'
    for _, argument in ipairs(arguments) do options[#options + 1] = argument end
    id = redis.call('XADD', stream, unpack(options))
  end
  if due_at > now then redis.call('ZADD', delayed, whole(number_of(id)), pad(id)) end
  return id
end
