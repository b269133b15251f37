-- configure changes settings that are still in the version the caller has read.
--
-- KEYS     the hash of settings, the audit log of settings
-- ARGV     the version expected, the version from now on, how many entries the log keeps
--          (0: no log), the number of log entries and the entries, then field and
--          value of each setting, the value '' to remove it
-- Replies  the version now: not the new one where it was another than expected
-- Idempotent: versions are never used twice.
local version = redis.call('HGET', KEYS[1], 'version') or ''
if version ~= ARGV[1] or version == ARGV[2] then
  return version
end
local entries = tonumber(ARGV[4])
for i = 5 + entries, #ARGV, 2 do
  if ARGV[i + 1] == '' then
    redis.call('HDEL', KEYS[1], ARGV[i])
  else
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
redis.call('HSET', KEYS[1], 'version', ARGV[2])
local time = redis.call('TIME')
local clock = time[1] * 1000000 + time[2]
for i = 5, 4 + entries do
  clock = clock + 1
  local id = string.format('%.0f-0', clock)
  if ARGV[3] ~= '0' and type(redis.pcall('XADD', KEYS[2], 'MAXLEN', '~', ARGV[3], id, 'e', ARGV[i])) == 'table' then
    redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[3], '*', 'e', ARGV[i])
  end
end
return ARGV[2]
