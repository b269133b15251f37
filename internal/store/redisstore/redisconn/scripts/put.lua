-- put replaces records that are still as the caller has read them.
--
-- It does not know tasks. The pure transitions of package task decide the new
-- record, and the caller lists the writes that follow from it. This script does
-- only the part that must be atomic: the comparison, and these writes.
--
-- KEYS     the keys of all items, each once
-- ARGV[1]  the caller's clock in milliseconds; '': compare no clock (tests)
-- ARGV[2]  the tolerated lag of that clock behind the server's, in milliseconds
-- ARGV[3]  its tolerated lead
-- ARGV[4]  the identity of the store
-- ARGV[5]  the number of the key that holds the identity: the ownership of a shard. If
--          the identity is missing or different, the script does nothing
-- ARGV[6]  the token of the newest fence that the caller's settings have passed, as
--          fence.lua wrote it into the same hash as the identity
-- then the items, each:
--   owner     the number of the shard's ownership key and the field id that it must
--             have; 0 and '': any node can own it. -1: only if the item before was
--             applied
--   record    the number of its hash, its field, the stamp (its first 8 bytes) that it
--             must have ('': there must be no record), and its new value ('': remove it)
--   earliest  not before this time in milliseconds
--   writes    their number, and for each: its name, the number of its key, the number of
--             its arguments, the arguments. Commands of Redis, and:
--             LOG entry             adds to a stream, in the order of the server's clock
--             LOGS namespace        after LOG: adds to a hash of namespaces if LOG has
--                                   created the stream
--             WAKE id channel message
--                                   publishes, if another node owns the shard
--
-- Replies  the server's clock in microseconds, then for each item
--   0  applied now          1  applied before: the record has the new stamp
--   2  before earliest      3  another node owns the shard
--   4  the item before was not applied
--   or the value of the record, '' for none: it is not the expected one
--   6  all checks passed, but the caller's clock differs by too much. Nothing of this
--      call is applied. Reply 1 still reports an earlier call: a caller that
--      repeats a call while a server is away learns its outcome.
--   7  all checks passed, but the caller's settings lack a purge. Nothing of the call
--      is applied, as with 6
--
-- All checks of an item come before its first write, and every key is in KEYS,
-- so no item ends halfway. Idempotent: a stamp is never used for two values.
local call, keys, args, number = redis.call, KEYS, ARGV, tonumber -- globals cost more
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
local now = math.floor(clock / 1000)
local out = {clock}
local skewed = false
local holder = call('HMGET', keys[number(args[5])], 'store', 'purge')
if holder[1] ~= args[4] then
  return redis.error_reply('FOLIOT_STORE ' .. keys[number(args[5])])
end
local stale = (holder[2] or '') ~= args[6]
if args[1] == '' then
  now = 9007199254740991
else
  skewed = now - args[1] > number(args[2]) or args[1] - now > number(args[3])
end

local at, applied = 7, false -- the position in args; whether the item before was applied

local function owned()
  local key = number(args[at])
  return key <= 0 or call('HGET', keys[key], 'id') == args[at + 1]
end

local function replace()
  local key, field, expected, new = keys[number(args[at + 2])], args[at + 3], args[at + 4], args[at + 5]
  local free = args[at] == '0' or args[at] == '-1' -- any node can own the shard
  if free and expected == '' and new ~= '' and args[at + 6] == '0' and not skewed and not stale and call('HSETNX', key, field, new) == 1 then
    return 0 -- all checks passed: one command instead of two
  end
  local old = call('HGET', key, field) or ''
  local stamp = string.sub(old, 1, 8)
  if stamp == string.sub(new, 1, 8) then
    return 1 -- even if another node owns the shard by now
  elseif not owned() then
    return 3
  elseif stamp ~= expected then
    return old
  elseif skewed then
    return 6
  elseif stale then
    return 7
  elseif number(args[at + 6]) > now then
    return 2
  elseif new == '' then
    call('HDEL', key, field)
  else
    call('HSET', key, field, new)
  end
  return 0
end

local made = false -- the last LOG has made its stream

local function log(key, entry)
  clock = clock + 1 -- the entries of one call need an order, too
  local id = string.format('%d-0', clock)
  local added = redis.pcall('XADD', key, 'NOMKSTREAM', id, 'e', entry)
  made = not added
  if made then
    call('XADD', key, id, 'e', entry)
  elseif type(added) == 'table' then
    call('XADD', key, '*', 'e', entry) -- the server's clock was set back
  end
end

local function wake(key, id, channel, message)
  local owner = call('HGET', key, 'id')
  if owner and owner ~= id then
    redis.pcall('SPUBLISH', channel, message) -- a user without the right to publish can still write
  end
end

local function write(name, key, first, n)
  if n == 2 then
    if call(name, key, args[first], args[first + 1]) == 0 and name == 'HINCRBY' then
      call('HDEL', key, args[first]) -- remove the counters of empty queues, because clients can name any number of queues
    end
  elseif name == 'LOG' then
    log(key, args[first])
  elseif name == 'LOGS' then
    if made then
      call('HSET', key, args[first], '')
    end
  elseif name == 'WAKE' then
    wake(key, args[first], args[first + 1], args[first + 2])
  else
    call(name, key, unpack(args, first, first + n - 1))
  end
end

local last = #args
while at <= last do
  local result = 4
  if args[at] ~= '-1' or applied then
    result = replace()
  end
  applied = result == 0
  out[#out + 1] = result
  local writes = number(args[at + 7])
  at = at + 8
  for _ = 1, writes do
    local n = number(args[at + 2])
    if applied then
      write(args[at], keys[number(args[at + 1])], at + 3, n)
    end
    at = at + 3 + n
  end
end
return out
