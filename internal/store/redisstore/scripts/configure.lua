-- configure changes settings if they still have the version that the caller has
-- read. Or it only writes entries of the audit log.
--
-- KEYS     the hash of settings; the audit log; the hash with the store's identity; the
--          channel of edits
-- ARGV     the expected version, the new version, the number of entries, the number of
--          entries that the log keeps, the identity of the store, the field of the hash
--          with the identity that counts the caller's changes, the entries, then field and
--          value of each setting, the value '' to remove it. Without settings no version
--          is compared
-- Replies  the version now, which is not the new one if the expected version did not
--          match; the count before the call, and after it
-- Idempotent: versions are never used twice. Entries without settings may be written twice.
if redis.call('HGET', KEYS[3], 'store') ~= ARGV[5] then
  return redis.error_reply('FOLIOT_STORE ' .. KEYS[3])
end
local before = tonumber(redis.call('HGET', KEYS[3], ARGV[6]) or 0)
local entries = tonumber(ARGV[3])
if #ARGV > 6 + entries then
  local version = redis.call('HGET', KEYS[1], 'version') or ''
  if version ~= ARGV[1] or version == ARGV[2] then
    return {version, before, before}
  end
  for i = 7 + entries, #ARGV, 2 do
    if ARGV[i + 1] == '' then
      redis.call('HDEL', KEYS[1], ARGV[i])
    else
      redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    end
  end
  redis.call('HSET', KEYS[1], 'version', ARGV[2])
  redis.call('HSET', KEYS[3], 'made', '1') -- from now on missing settings count as lost
  redis.pcall('SPUBLISH', KEYS[4], '') -- a user without the right to publish can still write
end
for i = 7, 6 + entries do
  redis.call('XADD', KEYS[2], 'MAXLEN', ARGV[4], '*', 'e', ARGV[i]) -- its ids grow, even if the clock is set back
end
return {ARGV[2], before, redis.call('HINCRBY', KEYS[3], ARGV[6], 1)}
