-- Accepts all leases and appends all records, or does neither; topics may differ.
-- KEYS: six a (topic, group), then three (stream, meta, delayed) a topic that is appended to.
-- ARGV: now, channel, number of groups, number of leases, then (group's number, group, id, lease) a lease, then
-- (topic's number, topic, bytes, numbers) a record. Numbers count from 0. Answer: 1 when done.
local now, channel = read_now(ARGV[1]), ARGV[2]
local group_count, lease_count = tonumber(ARGV[3]), tonumber(ARGV[4])
local by_group, seen = {}, {}
for index = 5, 4 + lease_count * 4, 4 do
  local first = tonumber(ARGV[index]) * 6
  local held, id = KEYS[first + 4], ARGV[index + 2]
  if seen[held .. id] or not is_held(redis.call('HGET', held, id), ARGV[index + 3]) then return 0 end
  seen[held .. id] = true
  by_group[first] = by_group[first] or {group = ARGV[index + 1], ids = {}}
  table.insert(by_group[first].ids, id)
end
for first, part in pairs(by_group) do
  finish(KEYS[first + 1], part.group, KEYS[first + 4], KEYS[first + 5], part.ids)
end
local rung = {}
for index = 5 + lease_count * 4, #ARGV, 4 do
  local first = group_count * 6 + tonumber(ARGV[index]) * 3
  append(KEYS[first + 1], KEYS[first + 2], KEYS[first + 3], now, ARGV[index + 2], ARGV[index + 3])
  rung[ARGV[index + 1]] = true
end
for topic in pairs(rung) do redis.call('PUBLISH', channel, topic) end
return 1
