-- own takes, keeps or releases a shard.
--
-- KEYS     the shard's ownership: a hash of id (<node>/<nonce>/<epoch>), until and horizon
--          (milliseconds), and epoch, which stays where nobody owns it
-- ARGV     'hold' or 'release', <node>/<nonce> of the process, the lease in milliseconds, and
--          for how long from now it wants to be told of what others put into the shard
-- Replies  the owner's id now, '' for nobody, and for how many milliseconds yet
--
-- A hold takes a shard that nobody owns, or whose owner's lease has ended, with an
-- epoch of its own; of whoever owns it already it renews the lease. After a
-- failover of the server an epoch can be given twice: hence the nonce.
-- Idempotent: the owner may hold again, and release what is not its own.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local own = redis.call('HMGET', KEYS[1], 'id', 'until', 'epoch')
local id, ends = own[1] or '', tonumber(own[2] or '0')
local ours = string.sub(id, 1, #ARGV[2] + 1) == ARGV[2] .. '/'

if ARGV[1] == 'release' then
  if ours then
    redis.call('HDEL', KEYS[1], 'id', 'until', 'horizon')
    id, ends = '', now
  end
elseif ours or id == '' or ends <= now then
  if not ours then
    id = ARGV[2] .. '/' .. string.format('%.0f', redis.call('HINCRBY', KEYS[1], 'epoch', 1))
  end
  ends = now + ARGV[3]
  redis.call('HSET', KEYS[1], 'id', id, 'until', string.format('%.0f', ends), 'horizon', string.format('%.0f', now + ARGV[4]))
end
return {id, string.format('%.0f', math.max(ends - now, 0))}
