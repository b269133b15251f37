-- beat says that a process lives, or that it goes, and who else does.
--
-- KEYS     the hash of nodes, and the hash beside it that bears the store's identity. The first:
--            <node>        <last heartbeat, milliseconds of the server's clock>/<nonce of the process>/<about it>
--            drain/<node>  <nonce of the process that is drained>, '!' before it where that was forced
--            twin/<node>   as of a node, of a process that found another one of its name alive
-- ARGV     the node ('' to change nothing), the nonce of its process, what is known about it
--          ('' where it goes), after how many milliseconds without a heartbeat a node is forgotten,
--          and after how many it has lost its name to another process ('': this one takes none that it has not),
--          and the identity of the store ('' or none: it is not known yet). Nothing is changed in another store
-- Replies  the server's clock, then 1 where the process is new here or has gone just now, 2 where
--          another process of that name lives, or may, otherwise 0, then how many heartbeats the store
--          has counted (in the field beats of the second hash; 0 if it changes nothing), then field and value of each
-- A name belongs to the process that had it first, until that goes or is silent. A drain goes with
-- its process. Idempotent.
if (ARGV[6] or '') ~= '' and redis.call('HGET', KEYS[2], 'store') ~= ARGV[6] then
  return redis.error_reply('FOLIOT_STORE ' .. KEYS[2])
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local news = 0
local beats = 0
if ARGV[1] ~= '' then
  beats = redis.call('HINCRBY', KEYS[2], 'beats', 1)
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
for i = 1, #all, 2 do
  local at, nonce, rest = string.match(all[i + 1], '^(%d+)/([^/]*)(.*)$')
  if at and tonumber(at) > now then -- the clock was set back, or another server's: who is silent from now on must look so
    at = string.format('%.0f', now)
    all[i + 1] = at .. '/' .. nonce .. rest
    redis.call('HSET', KEYS[1], all[i], all[i + 1])
  end
  if string.sub(all[i], 1, 6) ~= 'drain/' and at and now - at <= tonumber(ARGV[4]) then
    process[all[i]] = nonce
  end
end
local out = {string.format('%.0f', now), news, beats}
for i = 1, #all, 2 do
  local drained = string.match(all[i], '^drain/(.*)$')
  local keep = process[all[i]]
  if drained then
    keep = process[drained] and process[drained] == string.gsub(all[i + 1], '^!', '')
  end
  if keep then
    out[#out + 1] = all[i]
    out[#out + 1] = all[i + 1]
  else
    redis.call('HDEL', KEYS[1], all[i])
  end
end
return out
