-- seal makes a write, so that WAIT on the same connection covers all earlier
-- writes of the server. WAIT covers writes up to the last write of its own
-- connection. After a call that wrote nothing, WAIT alone would prove nothing.
--
-- KEYS     a key that is never read, a hash that holds the identity of the store
-- ARGV     the identity
-- Replies  OK
-- Idempotent.
if redis.call('HGET', KEYS[2], 'store') ~= ARGV[1] then
  return redis.error_reply('FOLIOT_STORE ' .. KEYS[2])
end
return redis.call('SET', KEYS[1], '')
