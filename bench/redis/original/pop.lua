-- Takes the tasks of a second out of its minute, and returns the cancelled keys
-- of the minute.
-- KEYS: the minute's tasks, its cancelled keys. ARGV: the second.
local due = redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[1], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], ARGV[1], ARGV[1])
return {due, redis.call('SMEMBERS', KEYS[2])}
