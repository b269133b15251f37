-- get reads records together with their bodies, each pair at one moment.
--
-- KEYS     for each read: the hash of records, the hash of bodies
-- ARGV     for each read: the field, and '1' if its body is needed
-- Replies  for each read: the record ('': none) and the body ('': none)
-- Writes nothing.
local out = {}
for r = 1, #ARGV / 2 do
  local field, wanted = ARGV[2 * r - 1], ARGV[2 * r] == '1'
  out[2 * r - 1] = redis.call('HGET', KEYS[2 * r - 1], field) or ''
  out[2 * r] = wanted and redis.call('HGET', KEYS[2 * r], field) or ''
end
return out
