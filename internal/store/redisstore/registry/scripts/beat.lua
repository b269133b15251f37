-- beat records that a process is live or leaves, and returns all nodes.
--
-- KEYS     the hash of nodes, and the hash with the store's identity. The first has:
--            <node>        <last heartbeat, milliseconds of the server's clock>/
--                          <nonce of the process>/<about it>
--            drain/<node>  <nonce of the drained process>, with '!' before it if forced
--            twin/<node>   like a node, for a process that found another live one with
--                          its name
--            dead/<node>   the last value of a node that is forgotten. Only the list for
--                          operators has it
-- ARGV     the node ('': change nothing), the nonce of its process, the text about it
--          ('': it leaves), after how many milliseconds without a heartbeat a node is
--          forgotten, after how many it loses its name to another process ('': this
--          process takes no new name), and the identity of the store ('' or missing:
--          not known yet). If the store has another identity, nothing is changed. Then
--          after how many milliseconds without a heartbeat a forgotten node is removed,
--          and '1' if the reply shall have the forgotten nodes
-- Replies  the server's clock; 1 if the process is new or has left just now, 2 if
--          another process of that name is or may be live, otherwise 0; then field and
--          value of each node. The field beats of the second hash counts the heartbeats
-- A name belongs to the first process that has it, until that one leaves or is silent.
-- A drain ends with its process. Idempotent.
if (ARGV[6] or '') ~= '' and redis.call('HGET', KEYS[2], 'store') ~= ARGV[6] then
  return redis.error_reply('FOLIOT_STORE ' .. KEYS[2])
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local news = 0
if ARGV[1] ~= '' then
  redis.call('HINCRBY', KEYS[2], 'beats', 1)
  local at, nonce = string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '', '^(%d+)/([^/]*)')
  local twin = 'twin/' .. ARGV[1]
  if string.match(redis.call('HGET', KEYS[1], twin) or '', '^%d+/([^/]*)') == ARGV[2] then
    redis.call('HDEL', KEYS[1], twin)
  end
  local about = string.format('%.0f/', now) .. ARGV[2] .. '/' .. ARGV[3]
  if ARGV[3] == '' then
    if nonce == ARGV[2] then -- another process may have its name by now
      news = redis.call('HDEL', KEYS[1], ARGV[1])
    end
  elseif nonce ~= ARGV[2] and (ARGV[5] == '' or at and now - at <= tonumber(ARGV[5])) then
    redis.call('HSET', KEYS[1], twin, about)
    news = 2
  else
    redis.call('HSET', KEYS[1], ARGV[1], about)
    news = nonce ~= ARGV[2] and 1 or 0
  end
end

local all = redis.call('HGETALL', KEYS[1])
local process = {} -- of each node that is not forgotten
local dead = {}
for i = 1, #all, 2 do
  local at, nonce, rest = string.match(all[i + 1], '^(%d+)/([^/]*)(.*)$')
  if string.sub(all[i], 1, 5) == 'dead/' then
    dead[#dead + 1] = {all[i], all[i + 1], tonumber(at)}
    at = nil
  end
  if at and tonumber(at) > now then -- the clock was set back, or is another server's: the heartbeat is set to now, so a dead node expires from now on
    at = string.format('%.0f', now)
    all[i + 1] = at .. '/' .. nonce .. rest
    redis.call('HSET', KEYS[1], all[i], all[i + 1])
  end
  if string.sub(all[i], 1, 6) ~= 'drain/' and at and now - at <= tonumber(ARGV[4]) then
    process[all[i]] = nonce
  end
end
local out = {string.format('%.0f', now), news}
for i = 1, #all, 2 do
  local drained = string.match(all[i], '^drain/(.*)$')
  local keep = process[all[i]]
  if drained then
    keep = process[drained] and process[drained] == string.gsub(all[i + 1], '^!', '')
  end
  if keep then
    out[#out + 1] = all[i]
    out[#out + 1] = all[i + 1]
  elseif string.sub(all[i], 1, 5) ~= 'dead/' then
    redis.call('HDEL', KEYS[1], all[i])
    if not string.find(all[i], '/') then
      dead[#dead + 1] = {'dead/' .. all[i], all[i + 1], tonumber(string.match(all[i + 1], '^%d+'))}
      redis.call('HSET', KEYS[1], 'dead/' .. all[i], all[i + 1])
    end
  end
end
if ARGV[7] then -- each call removes old ones, so that their number is bounded
  table.sort(dead, function(a, b) return (a[3] or 0) > (b[3] or 0) end)
  for i, d in ipairs(dead) do
    if i > 100 or process[string.sub(d[1], 6)] or now - (d[3] or 0) > tonumber(ARGV[7]) then
      redis.call('HDEL', KEYS[1], d[1])
    elseif ARGV[8] == '1' then
      out[#out + 1] = d[1]
      out[#out + 1] = d[2]
    end
  end
end
return out
