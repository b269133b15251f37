-- meta returns how tasks are stored in these servers. In an empty store it
-- decides that.
--
-- KEYS     the hash of values that all nodes must share
-- ARGV     fields and values for a hash that does not exist
-- Replies  all fields and values after the run
-- Idempotent.
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], unpack(ARGV))
end
return redis.call('HGETALL', KEYS[1])
