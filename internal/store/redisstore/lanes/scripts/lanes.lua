-- lanes reads indexes of lanes, or of tasks by a time.
--
-- KEYS     the indexes
-- ARGV     the highest bound; then for each index how many lanes to skip, and how many to
--          return at most (-1: all)
-- Replies  for each index: lane or task, bound or time, …
-- Writes nothing.
local out = {}
for i = 1, #KEYS do
  out[i] = redis.call('ZRANGE', KEYS[i], '-inf', ARGV[1], 'BYSCORE', 'LIMIT', ARGV[2 * i], ARGV[2 * i + 1], 'WITHSCORES')
end
return out
