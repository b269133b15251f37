-- Puts a task into its minute, and forgets that one of its key was cancelled there.
-- KEYS: the minute's tasks, its cancelled keys. ARGV: the task's second, the task, its key.
redis.call('SREM', KEYS[2], ARGV[3])
return redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
