-- due counts the tasks of a lane by due time, without reading them.
--
-- KEYS     the due index of the lane
-- ARGV     the bounds of the intervals, ascending
-- Replies  interval, tasks, interval, tasks, … Interval 0 is before the first bound. Tasks at
--          the last bound and later are not counted
-- Writes nothing.
local out, before = {}, 0
local all = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. ARGV[#ARGV])
for i = 1, #ARGV do
  if before == all then
    break
  end
  local n = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. ARGV[i])
  if n > before then
    out[#out + 1], out[#out + 2] = i - 1, n - before
    before = n
  end
end
return out
