-- settings reads the settings and the identity of their store at one moment.
--
-- KEYS     the hash of settings, the hash with the store's identity, a hash with the
--          version that each process has applied (confirm.lua)
-- ARGV     the version that the caller has, its process
-- Replies  the identity ('': none); '1' if settings ever existed; the version ('': none);
--          the version that the third hash has for the process ('': none); then, if the
--          caller's version is not the current one, fields and values
-- Writes nothing.
local about = redis.call('HMGET', KEYS[2], 'store', 'made')
local version = redis.call('HGET', KEYS[1], 'version') or ''
local out = {about[1] or '', about[2] or '', version, redis.call('HGET', KEYS[3], ARGV[2]) or ''}
if version ~= ARGV[1] then
  for _, text in ipairs(redis.call('HGETALL', KEYS[1])) do
    out[#out + 1] = text
  end
end
return out
