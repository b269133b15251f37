-- beat says that a node lives, or that it goes, and who else does.
--
-- KEYS     the hash of nodes: <node> → the server's clock at its last heartbeat, in milliseconds
-- ARGV     the node, '1' where it lives and '0' where it goes, and after how many
--          milliseconds without a heartbeat a node is forgotten
-- Replies  the server's clock, whether the node is new here or has gone just now (1 or 0),
--          then node and last heartbeat of each
-- Idempotent.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local news
if ARGV[2] == '1' then
  news = redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now))
else
  news = redis.call('HDEL', KEYS[1], ARGV[1])
end
local out = {string.format('%.0f', now), news}
local nodes = redis.call('HGETALL', KEYS[1])
for i = 1, #nodes, 2 do
  if now - nodes[i + 1] > tonumber(ARGV[3]) then
    redis.call('HDEL', KEYS[1], nodes[i])
  else
    out[#out + 1] = nodes[i]
    out[#out + 1] = nodes[i + 1]
  end
end
return out
