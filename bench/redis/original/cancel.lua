-- Marks a key as cancelled in a minute.
-- KEYS: the minute's cancelled keys. ARGV: the key, the seconds for which the mark stays.
redis.call('SADD', KEYS[1], ARGV[1])
return redis.call('EXPIRE', KEYS[1], ARGV[2])
