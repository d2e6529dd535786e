-- KEYS: a mark. ARGV: verb, now, value, ttl_ms. Kept as its end, a blank and the value.
-- Answer: the live value of `put_if_absent` and `get`, 1 or 0 of the others.
local SLACK_MS = 60000
local verb, now_ms, given = ARGV[1], read_now(ARGV[2]), ARGV[3]
local live = false
local text = redis.call('GET', KEYS[1])
if text then
  local until_ms, value = text:match('^(%d+) (.*)$')
  if tonumber(until_ms) > now_ms then live = value end
end

-- The server's own end comes later, so that one clock alone decides.
local function put(value)
  local ttl_ms = tonumber(ARGV[4])
  redis.call('SET', KEYS[1], whole(now_ms + ttl_ms) .. ' ' .. value, 'PX', whole(ttl_ms + SLACK_MS))
  return 1
end

if verb == 'get' then return live end
if verb == 'put' then return put(given) end
if verb == 'put_if_absent' then
  if not live then put(given) end
  return live
end
if not live then return 0 end
if verb == 'delete' then return redis.call('DEL', KEYS[1]) end
if live ~= given then return 0 end
if verb == 'renew' then return put(given) end
return redis.call('DEL', KEYS[1])
