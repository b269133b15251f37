-- confirm records that a process has applied the current settings.
--
-- KEYS     the hash of settings, the hash with the store's identity, a hash with the
--          version that each process has applied
-- ARGV     the version, the process, the identity of the store
-- Replies  OK
-- If the version is no longer the current one, nothing is recorded. Idempotent.
if redis.call('HGET', KEYS[2], 'store') ~= ARGV[3] then
  return redis.error_reply('FOLIOT_STORE ' .. KEYS[2])
end
if redis.call('HGET', KEYS[1], 'version') == ARGV[1] then
  redis.call('HSET', KEYS[3], ARGV[2], ARGV[1])
end
return 'OK'
