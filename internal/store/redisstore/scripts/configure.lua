-- configure changes settings if they still have the version that the caller has
-- read. Or it only writes entries of the audit log.
--
-- KEYS     the hash of settings; the audit log of the entries' namespace; a hash with a
--          field for each namespace that has such a log, and '/', the clock of these logs;
--          the hash with the store's identity; the channel of edits
-- ARGV     the expected version, the new version, the namespace of the entries, their
--          number (0: there is no log), the identity of the store, the field of the hash
--          with the identity that counts the caller's changes, the entries, then field and
--          value of each setting, the value '' to remove it. Without settings no version
--          is compared
-- Replies  the version now, which is not the new one if the expected version did not
--          match; the count before the call, and after it
-- Idempotent: versions are never used twice. Entries without settings may be written twice.
if redis.call('HGET', KEYS[4], 'store') ~= ARGV[5] then
  return redis.error_reply('FOLIOT_STORE ' .. KEYS[4])
end
local before = tonumber(redis.call('HGET', KEYS[4], ARGV[6]) or 0)
local entries = tonumber(ARGV[4])
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
  redis.call('HSET', KEYS[4], 'made', '1') -- from now on missing settings count as lost
  redis.pcall('SPUBLISH', KEYS[5], '') -- a user without the right to publish can still write
end
if entries > 0 then
  local time = redis.call('TIME')
  -- All logs of settings share one clock that never goes back. Their ids are
  -- sorted by it.
  local clock = math.max(time[1] * 1000000 + time[2], tonumber(redis.call('HGET', KEYS[3], '/') or 0))
  for i = 7, 6 + entries do
    clock = clock + 1
    redis.call('XADD', KEYS[2], string.format('%.0f-0', clock), 'e', ARGV[i])
  end
  redis.call('HSET', KEYS[3], '/', string.format('%.0f', clock), ARGV[3], '')
end
return {ARGV[2], before, redis.call('HINCRBY', KEYS[4], ARGV[6], 1)}
