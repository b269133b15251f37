-- raise sets lanes' lower bounds in the index of lanes to their true heads, and
-- removes those of empty lanes.
--
-- KEYS     the index of lanes, then the due index of each lane
-- ARGV     the lanes' members in the index of lanes, in the same order
-- Replies  the number of lanes whose bound was none: their heads came before it
-- Idempotent.
local wrong = 0
for i = 1, #ARGV do
  local head = redis.call('ZRANGE', KEYS[i + 1], 0, 0, 'WITHSCORES')
  if #head == 0 then
    redis.call('ZREM', KEYS[1], ARGV[i])
  else
    local bound = redis.call('ZSCORE', KEYS[1], ARGV[i])
    if not bound or tonumber(bound) > tonumber(head[2]) then
      wrong = wrong + 1
    end
    redis.call('ZADD', KEYS[1], head[2], ARGV[i])
  end
end
return wrong
