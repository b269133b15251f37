-- lanes reads indexes of lanes.
--
-- KEYS     the indexes
-- ARGV     up to which bound
-- Replies  for each index: lane, bound, lane, bound, …
-- Writes nothing.
local out = {}
for i = 1, #KEYS do
  out[i] = redis.call('ZRANGE', KEYS[i], '-inf', ARGV[1], 'BYSCORE', 'WITHSCORES')
end
return out
