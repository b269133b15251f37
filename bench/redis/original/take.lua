-- Takes the tasks of two seconds out of a minute, and returns them and the
-- cancelled keys of the minute.
-- KEYS: the minute's tasks, its cancelled keys. ARGV: the first second, the last one.
local tasks = redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[2], 'BYSCORE')
redis.call('ZREMRANGEBYSCORE', KEYS[1], ARGV[1], ARGV[2])
return {tasks, redis.call('SMEMBERS', KEYS[2])}
