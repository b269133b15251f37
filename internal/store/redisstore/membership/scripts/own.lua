-- own takes, keeps or releases shards.
--
-- KEYS     the shards' ownership: each a hash of id (<node>/<nonce>/<epoch>), until
--          (milliseconds), and of epoch and store, which stay where nobody owns it
-- ARGV     'hold', 'release' or 'look', which changes nothing, <node>/<nonce> of the process, the lease in milliseconds,
--          and the identity of the store: where the field store of a key is not that, nothing is changed
-- Replies  for each shard: the owner's id now, '' for nobody, for how many milliseconds
--          yet, and the id of the owner whose lease had ended, '' where it was not taken over
--
-- A hold takes a shard that nobody owns, or whose owner's lease has ended, with an
-- epoch of its own; of whoever owns it already it renews the lease, which writes
-- no more than its end. After a failover of the server an epoch can be given twice:
-- hence the nonce. Idempotent: the owner may hold again, and release what is not
-- its own.
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
  local id, ends, before = own[1] or '', tonumber(own[2] or '0'), ''
  local ours = string.sub(id, 1, #ARGV[2] + 1) == ARGV[2] .. '/'
  if ARGV[1] == 'release' then
    if ours then
      redis.call('HDEL', KEYS[i], 'id', 'until')
      id, ends = '', now
    end
  elseif ARGV[1] == 'look' then
    -- who owns it is all that was asked
  elseif ours then
    ends = now + ARGV[3]
    redis.call('HSET', KEYS[i], 'until', string.format('%.0f', ends))
  elseif id == '' or ends <= now then
    before, ends = id, now + ARGV[3]
    id = ARGV[2] .. '/' .. string.format('%.0f', redis.call('HINCRBY', KEYS[i], 'epoch', 1))
    redis.call('HSET', KEYS[i], 'id', id, 'until', string.format('%.0f', ends))
  elseif ends > now + ARGV[3] then -- the clock was set back, or another server's: no lease is longer
    ends = now + ARGV[3]
    redis.call('HSET', KEYS[i], 'until', string.format('%.0f', ends))
  end
  out[3 * i - 2], out[3 * i - 1], out[3 * i] = id, string.format('%.0f', math.max(ends - now, 0)), before
end
return out
