-- raise sets the lower bounds of lanes in the index of lanes to their true
-- heads, and removes the bounds of empty lanes.
--
-- KEYS     for each lane: its shard's index of lanes, and its due index
-- ARGV     for each lane: its member in the index of lanes
-- Replies  the number of bounds that were missing or later than the head
-- Idempotent.
local wrong = 0
for i = 1, #ARGV do
  local index = KEYS[2 * i - 1]
  local head = redis.call('ZRANGE', KEYS[2 * i], 0, 0, 'WITHSCORES')
  local bound = redis.call('ZSCORE', index, ARGV[i])
  if #head == 0 then
    if bound then
      redis.call('ZREM', index, ARGV[i])
    end
  elseif bound ~= head[2] then
    if not bound or tonumber(bound) > tonumber(head[2]) then
      wrong = wrong + 1
    end
    redis.call('ZADD', index, head[2], ARGV[i])
  end
end
return wrong
