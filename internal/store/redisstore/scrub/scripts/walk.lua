-- walk reads a part of a hash or of a sorted set: what a SCAN of it returns.
--
-- KEYS     the hash or the sorted set
-- ARGV     'HSCAN' or 'ZSCAN', where it goes on ('0': from the start), about how many, and
--          how many bytes of each value (-1: all)
-- Replies  where to go on, '0' at the end, then member, value, …; of a sorted set the
--          score is the value
-- Writes nothing.
local found = redis.call(ARGV[1], KEYS[1], ARGV[2], 'COUNT', ARGV[3])
local out, bytes = {found[1]}, tonumber(ARGV[4])
for i = 1, #found[2], 2 do
  out[#out + 1] = found[2][i]
  out[#out + 1] = bytes == 0 and '' or string.sub(found[2][i + 1], 1, bytes)
end
return out
