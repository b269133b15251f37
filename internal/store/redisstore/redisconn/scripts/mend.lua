-- mend writes what a value demands, if it is still what the caller has read.
--
-- KEYS     the hash of that value, then the keys that are written
-- ARGV     its field, how many of its bytes are compared (-1: all), those bytes ('': there
--          must be no value), then for each write: its name, the number of its key in
--          KEYS, the number of its arguments, the arguments
-- Replies  the sum of what the writes reply, 0 where nothing was wrong; -1: it is
--          another value
-- The check comes before the first write, and every key is in KEYS. Idempotent.
local value = redis.call('HGET', KEYS[1], ARGV[1])
if (value and string.sub(value, 1, tonumber(ARGV[2])) or '') ~= ARGV[3] then
  return -1
end
local at, changed = 4, 0
while at <= #ARGV do
  local n = tonumber(ARGV[at + 2])
  changed = changed + redis.call(ARGV[at], KEYS[tonumber(ARGV[at + 1])], unpack(ARGV, at + 3, at + 2 + n))
  at = at + 3 + n
end
return changed
