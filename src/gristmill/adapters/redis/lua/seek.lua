-- Moves a group over its topic, or counts what that would do, for at most some entries.
-- KEYS: those of a topic in a group. ARGV: what, group, first, after, now, is_preview, then ids that are spared.
-- `what` is one of ahead (entries below `first` that the group has not read), waiting (entries below it that wait) and
-- again (entries from it on that the group is done with). Answer: how many, and where to go on, empty at the end.
local stream, meta, state, held, leased, waiting = unpack(KEYS)
local what, group, first, after, is_preview = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[6] == '1'
local ENTRIES_MAX = 100

if redis.call('EXISTS', stream) == 0 then return {0, ''} end
if what ~= 'again' and first <= pad('0-0') then return {0, ''} end
local known = redis.call('HMGET', state, 'cursor', 'born', 'fresh_first', 'passed')
if not known[1] then
  if is_preview then
    known = {pad('0-0'), pad('0-0'), false, '0'}
  else
    known = open_group(stream, meta, state, held, leased, waiting, group)
  end
end
local cursor = known[1]

local function move_ahead()
  local from = after > cursor and after or cursor
  local entries = redis.call('XRANGE', stream, '(' .. from, '(' .. first, 'COUNT', ENTRIES_MAX)
  if #entries == 0 then return {0, ''} end
  local last = pad(entries[#entries][1])
  if not is_preview then
    local passed = #entries
    -- Ids of ours have no gaps: what is missing was lost, and nobody wants it any more.
    if redis.call('HEXISTS', meta, 'last') == 1 then
      passed = number_of(last) - math.max(number_of(cursor), number_of(known[2]))
    end
    redis.call('XGROUP', 'SETID', stream, group, last)
    redis.call('HSET', state, 'cursor', last, 'passed', whole(tonumber(known[4]) + passed))
  end
  return {#entries, #entries == ENTRIES_MAX and last or ''}
end

local function forget_waiting()
  local from = after == '' and '-' or '(' .. after
  local page = redis.pcall('XPENDING', stream, group, from, '(' .. first, CHUNK, PARKED)
  if page.err or #page == 0 then return {0, ''} end
  local ids = {}
  for _, entry in ipairs(page) do ids[#ids + 1] = pad(entry[1]) end
  if not is_preview then
    finish(stream, group, held, leased, ids)
    in_chunks(ids, function(...) redis.call('ZREM', waiting, ...) end)
  end
  return {#ids, #page == CHUNK and ids[#ids] or ''}
end

local function bring_back()
  local spared = {}
  for index = 7, #ARGV do spared[ARGV[index]] = true end
  local from = after == '' and first or '(' .. after
  local ids = {}
  for _, entry in ipairs(redis.call('XRANGE', stream, from, cursor, 'COUNT', ENTRIES_MAX)) do
    ids[#ids + 1] = pad(entry[1])
  end
  if #ids == 0 then return {0, ''} end
  local now, texts = read_now(ARGV[5]), values_of(held, ids)
  local again, holds, ends = {}, {}, {}
  for index, id in ipairs(ids) do
    if not texts[index] and not spared[id] then
      again[#again + 1] = id
      holds[#holds + 1] = id
      -- No earlier holder can have an epoch as high as the time.
      holds[#holds + 1] = pack_hold(now, 0, 0, '0', '')
      ends[#ends + 1] = whole(now)
      ends[#ends + 1] = id
    end
  end
  if not is_preview and #again > 0 then
    redis.call('HSET', held, unpack(holds))
    redis.call('ZADD', waiting, unpack(ends))
    give_to(stream, group, PARKED, again)
  end
  return {#again, #ids == ENTRIES_MAX and ids[#ids] or ''}
end

if what == 'ahead' then return move_ahead() end
if what == 'waiting' then return forget_waiting() end
return bring_back()
