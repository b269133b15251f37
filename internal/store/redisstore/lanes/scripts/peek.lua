-- peek reads lanes in the order of due times. Entries of one instant are in the
-- order of their names.
--
-- KEYS     the due index of each read
-- ARGV     for each read: the due time and the name after which it begins, the last due
--          time, and the largest number of entries
-- Replies  for each read: name, due, name, due, …; the last entry may be after the last
--          due time, which shows that more entries exist
-- Writes nothing.

-- before compares bytes. Lua's own < uses the server's locale.
local function before(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then
      return x < y
    end
  end
  return #a < #b
end

-- behind returns the rank of the first entry after (due, name). An index is
-- sorted by score, and then by the bytes of its members. So a binary search
-- finds the place even if that entry is gone.
local function behind(key, due, name)
  local low = redis.call('ZCOUNT', key, '-inf', '(' .. due)
  local high = redis.call('ZCOUNT', key, '-inf', due)
  while name ~= '' and low < high do
    local middle = math.floor((low + high) / 2)
    if before(name, redis.call('ZRANGE', key, middle, middle)[1]) then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

local out = {}
for r = 1, #KEYS do
  local due, name, last, limit = ARGV[4 * r - 3], ARGV[4 * r - 2], tonumber(ARGV[4 * r - 1]), tonumber(ARGV[4 * r])
  local first = behind(KEYS[r], due, name)
  local found = redis.call('ZRANGE', KEYS[r], first, first + limit - 1, 'WITHSCORES')
  while #found > 2 and tonumber(found[#found - 2]) > last do
    found[#found] = nil
    found[#found] = nil
  end
  out[r] = found
end
return out
