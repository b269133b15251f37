-- seal writes something, so that WAIT on the same connection speaks of all that
-- the server wrote before. It counts up to the connection's own last write: behind
-- a call that had nothing left to write it would prove nothing.
--
-- KEYS     a key that nobody reads
-- Replies  OK
-- Idempotent.
return redis.call('SET', KEYS[1], '')
