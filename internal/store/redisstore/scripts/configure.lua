-- configure changes settings that are still in the version the caller has read, or writes
-- entries of the audit log alone.
--
-- KEYS     the hash of settings, the audit log of the entries' namespace, the hash whose
--          fields are the namespaces that have such a log, and '/', the clock of these logs;
--          the hash that bears the store's identity
-- ARGV     the version expected, the version from now on, the namespace of the entries,
--          their number (0: there is no log), the identity of the store and the entries, then
--          field and value of each setting, the value '' to remove it; without settings no
--          version is compared
-- Replies  the version now: not the new one if another than the expected one was there
-- Idempotent: versions are never used twice. Entries alone may be written twice.
if redis.call('HGET', KEYS[4], 'store') ~= ARGV[5] then
  return redis.error_reply('FOLIOT_STORE ' .. KEYS[4])
end
local entries = tonumber(ARGV[4])
if #ARGV > 5 + entries then
  local version = redis.call('HGET', KEYS[1], 'version') or ''
  if version ~= ARGV[1] or version == ARGV[2] then
    return version
  end
  for i = 6 + entries, #ARGV, 2 do
    if ARGV[i + 1] == '' then
      redis.call('HDEL', KEYS[1], ARGV[i])
    else
      redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    end
  end
  redis.call('HSET', KEYS[1], 'version', ARGV[2])
  redis.call('HSET', KEYS[4], 'made', '1') -- from now on settings that are not there are lost
end
if entries > 0 then
  local time = redis.call('TIME')
  -- All logs of settings share one clock that never goes back: their ids order them.
  local clock = math.max(time[1] * 1000000 + time[2], tonumber(redis.call('HGET', KEYS[3], '/') or 0))
  for i = 6, 5 + entries do
    clock = clock + 1
    redis.call('XADD', KEYS[2], string.format('%.0f-0', clock), 'e', ARGV[i])
  end
  redis.call('HSET', KEYS[3], '/', string.format('%.0f', clock), ARGV[3], '')
end
return ARGV[2]
