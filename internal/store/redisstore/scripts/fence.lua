-- fence makes put refuse the calls of nodes whose settings lack a purge.
--
-- KEYS     the ownership of the shards of one slot, each a hash; the field purge is written
-- ARGV     the token of the purge, the identity of the store
-- Replies  OK
-- Idempotent.
for i = 1, #KEYS do
  if redis.call('HGET', KEYS[i], 'store') ~= ARGV[2] then
    return redis.error_reply('FOLIOT_STORE ' .. KEYS[i])
  end
end
for i = 1, #KEYS do
  redis.call('HSET', KEYS[i], 'purge', ARGV[1])
end
return 'OK'
