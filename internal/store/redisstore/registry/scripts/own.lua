-- own acquires, renews or releases shards.
--
-- KEYS     the ownership of the shards: each is a hash of id (<node>/<nonce>/<epoch>) and
--          until (milliseconds), which exist while the shard has an owner, and of epoch
--          and store, which always exist
-- ARGV     'hold', 'release' or 'look' (which changes nothing), <node>/<nonce> of the
--          process, the lease in milliseconds, and the identity of the store: if the field
--          store of any key differs, nothing is changed
-- Replies  for each shard: the owner's id now ('': none), and the milliseconds left of its
--          lease
--
-- A hold acquires a shard if it has no owner, or if the owner's lease has ended,
-- and gives it a new epoch. If the process owns the shard already, a hold
-- renews the lease and writes only its end. A failover of the server can lead
-- to the same epoch twice; so the id has a nonce too. Idempotent: the owner may
-- hold again. Releasing a shard of another process does nothing.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local out = {}
for i = 1, #KEYS do
  if redis.call('HGET', KEYS[i], 'store') ~= ARGV[4] then
    return redis.error_reply('FOLIOT_STORE ' .. KEYS[i])
  end
end
for i = 1, #KEYS do
  local own = redis.call('HMGET', KEYS[i], 'id', 'until')
  local id, ends = own[1] or '', tonumber(own[2] or '0')
  local ours = string.sub(id, 1, #ARGV[2] + 1) == ARGV[2] .. '/'
  if ARGV[1] == 'release' then
    if ours then
      redis.call('HDEL', KEYS[i], 'id', 'until')
      id, ends = '', now
    end
  elseif ARGV[1] == 'look' then
    -- the reply is all that was asked for
  elseif ours then
    ends = now + ARGV[3]
    redis.call('HSET', KEYS[i], 'until', string.format('%.0f', ends))
  elseif id == '' or ends <= now then
    ends = now + ARGV[3]
    id = ARGV[2] .. '/' .. string.format('%.0f', redis.call('HINCRBY', KEYS[i], 'epoch', 1))
    redis.call('HSET', KEYS[i], 'id', id, 'until', string.format('%.0f', ends))
  elseif ends > now + ARGV[3] then -- the clock was set back, or is another server's: no lease is longer than this
    ends = now + ARGV[3]
    redis.call('HSET', KEYS[i], 'until', string.format('%.0f', ends))
  end
  out[2 * i - 1], out[2 * i] = id, string.format('%.0f', math.max(ends - now, 0))
end
return out
