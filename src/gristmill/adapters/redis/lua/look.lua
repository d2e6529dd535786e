-- KEYS: those of a topic in a group. ARGV: id. Answer: owner, attempt and due time; nothing when the group is done with
-- the record or it is gone.
local stream, state, held, leased, waiting = KEYS[1], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local id = ARGV[1]
local fields = read_entry(stream, id)
if not fields then return {} end
local cursor = redis.call('HGET', state, 'cursor')
if not cursor or cursor < id then return {'', 0, due_of(fields)} end
local text = redis.call('HGET', held, id)
if not text then return {} end
local _, attempt, _, _, owner = unpack_hold(text)
local due = redis.call('ZSCORE', leased, id) or redis.call('ZSCORE', waiting, id) or '0'
return {owner, attempt, tonumber(due)}
