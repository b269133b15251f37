-- fence makes put refuse the calls of nodes whose settings lack an edit.
--
-- KEYS     the ownership of the shards of one slot, each a hash; the field fence is
--          written. The first of them counts the runs in the field fences
-- ARGV     a token of the edit, the identity of the store
-- Replies  OK
--
-- Each run writes a token that no other run writes. If a repeated or late run
-- wrote an old token again, put would accept nodes with old settings.
for i = 1, #KEYS do
  if redis.call('HGET', KEYS[i], 'store') ~= ARGV[2] then
    return redis.error_reply('FOLIOT_STORE ' .. KEYS[i])
  end
end
local token = ARGV[1] .. '/' .. redis.call('HINCRBY', KEYS[1], 'fences', 1)
for i = 1, #KEYS do
  redis.call('HSET', KEYS[i], 'fence', token)
end
return 'OK'
