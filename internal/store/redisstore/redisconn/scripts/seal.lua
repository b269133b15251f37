-- seal writes something, so that WAIT on the same connection speaks of all that
-- the server wrote before. It counts up to the connection's own last write: behind
-- a call that had nothing left to write it would prove nothing.
--
-- KEYS     a key that nothing reads, a hash that bears the identity of the store
-- ARGV     the identity
-- Replies  OK
-- Idempotent.
if redis.call('HGET', KEYS[2], 'store') ~= ARGV[1] then
  return redis.error_reply('FOLIOT_STORE ' .. KEYS[2])
end
return redis.call('SET', KEYS[1], '')
