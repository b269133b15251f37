-- mend writes a list of commands if a value is still the one that the caller
-- has read.
--
-- KEYS     the hash of that value, then the keys that are written
-- ARGV     the field, how many bytes of the value are compared (-1: all), those bytes
--          ('': there must be no value), then for each command: its name, the number
--          of its key in KEYS, the number of its arguments, the arguments
-- Replies  the sum of the replies of the commands, 0 if all was right before;
--          -1: the value has changed
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
