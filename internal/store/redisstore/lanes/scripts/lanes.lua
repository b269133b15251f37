-- lanes reads indexes of lanes.
--
-- KEYS     the indexes
-- ARGV     up to which bound, then for each index how many lanes to pass over, and how many
--          at most (-1: all)
-- Replies  for each index: lane, bound, lane, bound, …
-- Writes nothing.
local out = {}
for i = 1, #KEYS do
  out[i] = redis.call('ZRANGE', KEYS[i], '-inf', ARGV[1], 'BYSCORE', 'LIMIT', ARGV[2 * i], ARGV[2 * i + 1], 'WITHSCORES')
end
return out
