-- settings reads the settings and the identity of their store at one moment.
--
-- KEYS     the hash of settings, the hash with the store's identity
-- ARGV     the version that the caller has
-- Replies  the identity ('': none); '1' if settings ever existed; the version ('': none);
--          then, if that differs from the caller's, fields and values
-- Writes nothing.
local about = redis.call('HMGET', KEYS[2], 'store', 'made')
local version = redis.call('HGET', KEYS[1], 'version') or ''
local out = {about[1] or '', about[2] or '', version}
if version ~= ARGV[1] then
  for _, text in ipairs(redis.call('HGETALL', KEYS[1])) do
    out[#out + 1] = text
  end
end
return out
