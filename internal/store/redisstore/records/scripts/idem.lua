-- idem takes or drops Idempotency-Keys, and returns their owners.
--
-- KEYS     the hash of keys for each request (they may differ); then the ownership key of one
--          of their shards
-- ARGV     the identity of the store, which that ownership key must hold; then for each
--          request: 'take' or 'drop', the digest of the key, the name of the task that takes
--          it or gives it back; for a take the name from which it may be taken ('': none),
--          for a drop how old it must be in milliseconds ('': any age)
-- Replies  for each: the name that has it now ('': none), and for how many milliseconds,
--          -1 if it was taken just now
-- Idempotent.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local out = {}
if redis.call('HGET', KEYS[#KEYS], 'store') ~= ARGV[1] then
  return redis.error_reply('FOLIOT_STORE ' .. KEYS[#KEYS])
end
for i = 1, #KEYS - 1 do
  local verb, digest, name, from = ARGV[4 * i - 2], ARGV[4 * i - 1], ARGV[4 * i], ARGV[4 * i + 1]
  local value = redis.call('HGET', KEYS[i], digest)
  local has, age = '', 0
  if value then
    local since
    since, has = string.match(value, '^(%d+)/(.*)$')
    age = math.max(now - since, 0)
  end
  if verb == 'drop' then
    if has == name and age >= (tonumber(from) or 0) then
      redis.call('HDEL', KEYS[i], digest)
      has = ''
    end
  elseif has == '' or has == from and has ~= name then
    has, age = name, -1
    redis.call('HSET', KEYS[i], digest, string.format('%.0f/', now) .. name)
  elseif has == name and age > 1000 then -- a create is under way again
    redis.call('HSET', KEYS[i], digest, string.format('%.0f/', now) .. name)
  end
  out[2 * i - 1], out[2 * i] = has, string.format('%.0f', age)
end
return out
