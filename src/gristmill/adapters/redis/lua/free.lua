-- Frees what a dead owner holds. KEYS: those of a topic in a group.
-- ARGV: group, owner, now, channel, topic, has_marks, then ids that it was working on. Answer: how many came free.
local stream, held, leased, waiting = KEYS[1], KEYS[4], KEYS[5], KEYS[6]
local group, owner, now = ARGV[1], ARGV[2], whole(read_now(ARGV[3]))
local marked = {}
for index = 7, #ARGV do marked[ARGV[index]] = true end
local from, count = '-', 0
while true do
  local page = redis.call('XPENDING', stream, group, from, '+', CHUNK, owner)
  local ids, holds, ends = {}, {}, {}
  for _, entry in ipairs(page) do
    local id = pad(entry[1])
    local text = redis.call('HGET', held, id)
    if text then
      local epoch, attempt, generation, _, holder = unpack_hold(text)
      if holder == owner then
        if ARGV[6] == '1' and not marked[id] then attempt = attempt - 1 end
        ids[#ids + 1] = id
        holds[#holds + 1] = id
        holds[#holds + 1] = pack_hold(epoch, attempt, generation, '0', '')
        ends[#ends + 1] = now
        ends[#ends + 1] = id
      end
    end
    from = '(' .. entry[1]
  end
  in_chunks(holds, function(...) redis.call('HSET', held, ...) end)
  in_chunks(ids, function(...) redis.call('ZREM', leased, ...) end)
  in_chunks(ends, function(...) redis.call('ZADD', waiting, ...) end)
  give_to(stream, group, PARKED, ids)
  count = count + #ids
  if #page < CHUNK then break end
end
if count > 0 then redis.call('PUBLISH', ARGV[4], ARGV[5]) end
return count
