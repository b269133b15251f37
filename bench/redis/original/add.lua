-- Adds a task to its minute, and removes the cancel mark of its key there.
-- KEYS: the minute's tasks, its cancelled keys. ARGV: the task's second, the task, its key.
redis.call('SREM', KEYS[2], ARGV[3])
return redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
