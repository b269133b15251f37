-- unlog removes a stream of the audit log that has no entries left.
--
-- KEYS     the stream, the hash of namespaces that have such a stream
-- ARGV     the stream's namespace
-- Replies  1 it is removed, 0 it has entries
-- Idempotent: removing a stream again changes nothing.
if redis.call('XLEN', KEYS[1]) > 0 then
  return 0
end
redis.call('PEXPIRE', KEYS[1], 0) -- removes it: the user may not have the right to DEL
redis.call('HDEL', KEYS[2], ARGV[1])
return 1
