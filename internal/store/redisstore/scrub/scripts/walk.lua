-- walk reads one step of a SCAN of a hash or a sorted set.
--
-- KEYS     the hash or the sorted set
-- ARGV     'HSCAN' or 'ZSCAN', the cursor ('0': from the start), about how many members,
--          and how many bytes of each value (-1: all)
-- Replies  the next cursor ('0' at the end), then member, value, …; in a sorted set the
--          score is the value
-- Writes nothing.
local found = redis.call(ARGV[1], KEYS[1], ARGV[2], 'COUNT', ARGV[3])
local out, bytes = {found[1]}, tonumber(ARGV[4])
for i = 1, #found[2], 2 do
  out[#out + 1] = found[2][i]
  out[#out + 1] = bytes == 0 and '' or string.sub(found[2][i + 1], 1, bytes)
end
return out
