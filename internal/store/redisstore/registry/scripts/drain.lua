-- drain makes the process of a node own no shards, or ends that.
--
-- KEYS     the hash of nodes (beat.lua)
-- ARGV     the node, 'drain', 'force' or 'undo', the milliseconds after which a silent node
--          is no longer live
-- Replies  1 it changed now, 0 it was so before, 'missing' there is no such live node,
--          'last' no other node could own shards, and the drain is not forced
-- Idempotent: a repeat changes nothing.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local all, processes, drains = redis.call('HGETALL', KEYS[1]), {}, {}
for i = 1, #all, 2 do
  local drained = string.match(all[i], '^drain/(.*)$')
  local at, nonce = string.match(all[i + 1], '^(%d+)/([^/]*)')
  if drained then
    drains[drained] = all[i + 1]
  elseif at and now - at <= tonumber(ARGV[3]) and not string.find(all[i], '/') then
    processes[all[i]] = nonce
  end
end
local function draining(node)
  return drains[node] and string.gsub(drains[node], '^!', '') == processes[node]
end

local node, verb = ARGV[1], ARGV[2]
if not processes[node] then
  return 'missing'
end
local value = (verb == 'force' and '!' or '') .. processes[node]
if verb == 'undo' then
  if not drains[node] then
    return 0
  end
elseif drains[node] == value then
  return 0
end
if verb == 'drain' then
  local others = false
  for other in pairs(processes) do
    others = others or other ~= node and not draining(other)
  end
  if not others then
    return 'last'
  end
end
if verb == 'undo' then
  redis.call('HDEL', KEYS[1], 'drain/' .. node)
else
  redis.call('HSET', KEYS[1], 'drain/' .. node, value)
end
return 1
