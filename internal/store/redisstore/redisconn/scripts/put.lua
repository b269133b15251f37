-- put replaces records that are still as the caller has read them, and makes the
-- writes that follow. The caller decides both; put knows no tasks.
--
-- KEYS     the keys of all items, each once
-- ARGV[1]  the caller's clock in milliseconds; '': compare no clock (tests)
-- ARGV[2]  the tolerated lag of that clock behind the server's, in milliseconds
-- ARGV[3]  its tolerated lead
-- ARGV[4]  the identity of the store. If it is missing or different, put does nothing
-- ARGV[5]  the number of the key that holds it: the ownership of a shard
-- ARGV[6]  the token of the newest fence that the caller's settings have passed (fence.lua)
-- ARGV[7]  the field beside the identity that counts the caller's changes; '': count nothing
-- then the items, each for a different record:
--   owner     the number of the shard's ownership key and the field id that it must
--             have; 0 and '': any node can own it. -1: only if the item before was
--             applied
--   record    the number of its hash, its field, the stamp (its first 8 bytes) that it
--             must have ('': there must be no record), and its new value ('': remove it)
--   earliest  not before this time in milliseconds
--   writes    the number of arguments of all writes, and for each write: its name, the number
--             of its key, the number of its arguments, the arguments. The names:
--             ZADD score member, ZREM member, HSET field value, HDEL field
--             LOWER score member    adds to a sorted set, or lowers the score
--             COUNT field number    adds to a field, and removes it if it is 0
--             WAKE id channel message
--                                   publishes, if another node owns the shard
--
-- Replies  the server's clock in microseconds, the count before the call, then for each item
--   0  applied now          1  applied before: the record has the new stamp
--   2  before earliest      3  another node owns the shard
--   4  the item before was not applied
--   6  the caller's clock differs by too much; nothing of this call is applied
--   or the value of the record, '' for none: it is not the expected one
--   or a list with the token of the newest fence: the caller's settings lack an edit;
--      nothing of this call is applied
--
-- All checks come before the first write, so no item ends halfway. The items have
-- different records, so one command can write for all of them. Index entries are
-- written before records: an entry without its record does no harm if a server that
-- stops keeps only the first commands. Idempotent: no stamp has two values.
local call, keys, args, number = redis.call, KEYS, ARGV, tonumber -- globals cost more
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
local now = math.floor(clock / 1000)
local skewed = false
local holder = call('HMGET', keys[number(args[5])], 'store', 'fence', args[7])
local out = {clock, number(holder[3] or 0) or 0}
if holder[1] ~= args[4] then
  return redis.error_reply('FOLIOT_STORE ' .. keys[number(args[5])])
end
local fence = holder[2] or ''
if args[1] == '' then
  now = 9007199254740991
else
  skewed = now - args[1] > number(args[2]) or args[1] - now > number(args[3])
end

-- All records are read by one command for each hash. fields[hash] and values[hash]
-- are lists; turn[hash] is the index of the next item's record.
local fields, values, turn, last = {}, {}, {}, #args
local at = 8 -- the position in args
while at <= last do
  local hash = args[at + 2]
  local list = fields[hash]
  if not list then
    list = {}
    fields[hash], turn[hash] = list, 0
  end
  list[#list + 1] = args[at + 3]
  at = at + 8 + args[at + 7]
end
for hash, list in pairs(fields) do
  values[hash] = call('HMGET', keys[number(hash)], unpack(list))
end

local owners = {} -- the field id of each ownership key

local function owner(key)
  if owners[key] == nil then
    owners[key] = call('HGET', keys[number(key)], 'id')
  end
  return owners[key]
end

-- commands has for each name the arguments by key. lowest and counts have numbers
-- by key and member.
local commands, lowest, counts = {ZADD = {}, HSET = {}, HDEL = {}, ZREM = {}}, {}, {}

local function decide(old)
  local expected, new = args[at + 4], args[at + 5]
  local stamp = string.sub(old, 1, 8)
  if stamp == string.sub(new, 1, 8) then
    return 1 -- even if another node owns the shard by now
  elseif number(args[at]) > 0 and owner(args[at]) ~= args[at + 1] then
    return 3
  elseif stamp ~= expected then
    return old
  elseif skewed then
    return 6
  elseif fence ~= args[6] then
    return {fence}
  elseif number(args[at + 6]) > now then
    return 2
  end
  return 0
end

local function append(name, key, first, n)
  local list = commands[name][key]
  if not list then
    list = {}
    commands[name][key] = list
  end
  local length = #list
  for i = 0, n - 1 do
    list[length + 1 + i] = args[first + i]
  end
end

local function within(map, key)
  local inner = map[key]
  if not inner then
    inner = {}
    map[key] = inner
  end
  return inner
end

local function write(name, key, first, n)
  if commands[name] then
    append(name, key, first, n)
  elseif name == 'COUNT' then
    local sums = within(counts, key)
    sums[args[first]] = (sums[args[first]] or 0) + args[first + 1]
  elseif name == 'LOWER' then
    local scores, member, score = within(lowest, key), args[first + 1], number(args[first])
    if not scores[member] or score < scores[member] then
      scores[member] = score
    end
  else -- WAKE
    local id = owner(key)
    if id and id ~= args[first] then
      redis.pcall('SPUBLISH', args[first + 1], args[first + 2]) -- a user without the right to publish can still write
    end
  end
end

local applied = false -- whether the item before was applied
local changed = 0
at = 8
while at <= last do
  local hash, result = args[at + 2], 4
  turn[hash] = turn[hash] + 1
  if args[at] ~= '-1' or applied then
    result = decide(values[hash][turn[hash]] or '')
  end
  applied = result == 0
  out[#out + 1] = result
  local item = at
  at = at + 8
  local behind = at + args[item + 7]
  if applied then
    changed = changed + 1
    if args[item + 5] == '' then
      append('HDEL', hash, item + 3, 1)
    else
      local list = within(commands.HSET, hash)
      list[#list + 1] = args[item + 3]
      list[#list + 1] = args[item + 5]
    end
    while at < behind do
      local n = number(args[at + 2])
      write(args[at], args[at + 1], at + 3, n)
      at = at + 3 + n
    end
  end
  at = behind
end

for key, scores in pairs(lowest) do
  local list = {}
  for member, score in pairs(scores) do
    list[#list + 1] = string.format('%.0f', score)
    list[#list + 1] = member
  end
  call('ZADD', keys[number(key)], 'LT', unpack(list))
end
for _, name in ipairs({'ZADD', 'HSET', 'HDEL', 'ZREM'}) do
  for key, list in pairs(commands[name]) do
    call(name, keys[number(key)], unpack(list))
  end
end
-- A damaged count must not end the script here. A scrub corrects it.
for key, sums in pairs(counts) do
  for field, sum in pairs(sums) do
    if sum ~= 0 and redis.pcall('HINCRBY', keys[number(key)], field, string.format('%.0f', sum)) == 0 then
      call('HDEL', keys[number(key)], field)
    end
  end
end
if changed > 0 and args[7] ~= '' then
  redis.pcall('HINCRBY', keys[number(args[5])], args[7], changed)
end
return out
