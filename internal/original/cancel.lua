-- Marks a key as cancelled in a minute.
-- KEYS: the minute's cancelled keys. ARGV: the key, for how many seconds the mark stays.
redis.call('SADD', KEYS[1], ARGV[1])
return redis.call('EXPIRE', KEYS[1], ARGV[2])
