-- Marks a key as cancelled in a minute. Only the first mark starts the time
-- after which all marks of the minute vanish.
-- KEYS: the minute's cancelled keys. ARGV: the key, that time in seconds.
redis.call('SADD', KEYS[1], ARGV[1])
if redis.call('SCARD', KEYS[1]) == 1 then
  redis.call('EXPIRE', KEYS[1], ARGV[2])
end
return redis.status_reply('OK')
