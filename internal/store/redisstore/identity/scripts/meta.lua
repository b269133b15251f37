-- meta returns how tasks are stored in these servers. In an empty store it
-- decides that.
--
-- KEYS     the hash of values that all nodes must share
-- ARGV     the lease that may be replaced ('': none), and the new one; then fields and values
--          for a hash that does not exist
-- Replies  all fields and values after the run
-- Idempotent.
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], unpack(ARGV, 3))
elseif ARGV[1] ~= '' and redis.call('HGET', KEYS[1], 'lease') == ARGV[1] then
  redis.call('HSET', KEYS[1], 'lease', ARGV[2])
end
return redis.call('HGETALL', KEYS[1])
