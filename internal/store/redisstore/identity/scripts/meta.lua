-- meta says how tasks are kept in these servers, and decides it where none are yet.
--
-- KEYS     the hash of what nodes have to agree on
-- ARGV     the lease that may be replaced, '' for none, and what by; the identity for a store
--          that has none; then fields and values for a hash that is not there yet
-- Replies  fields and values, as they are now
-- Idempotent.
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], unpack(ARGV, 4))
elseif ARGV[1] ~= '' and redis.call('HGET', KEYS[1], 'lease') == ARGV[1] then
  redis.call('HSET', KEYS[1], 'lease', ARGV[2])
end
redis.call('HSETNX', KEYS[1], 'identity', ARGV[3]) -- the first one wins
return redis.call('HGETALL', KEYS[1])
