-- permits gives a process its share of the limits of a queue, or of one
-- destination.
--
-- KEYS     permits: a hash of process → held, want, until, fresh, since, replied, number
--          (replied: the share in the last reply);
--          tokens: a hash of process → out, used, until, since, want, fresh, number, ready,
--          and of tat and interval
-- ARGV     the process, the number of its ask, the lease;
--          the limit of permits or 0, how many the process keeps until it has the reply, how
--          many it wants;
--          microseconds for a token or 0, the bucket's depth, how many tokens the process has
--          ever used, how long ago it used the last one, how many it wants to have
-- Replies  permits held, its share or -1, tokens to use, after how long the last one can be
--          used, after how long to ask again or 0, then the processes that should ask again
--
-- All times are microseconds. A process counts as wanting permits until fresh, and
-- keeps its permits until its lease ends. The clock can go back, by a step or a
-- failover. So no stored lease is longer than a new ask would make it, and no bucket
-- is emptier than empty: otherwise a queue would stop for the length of the step.
--
-- Idempotent: an ask states the result it wants, not a change, so the next ask makes
-- up for a lost one. An ask that arrives twice, or after a later one, changes nothing.
--
-- Permits. Their sum grows only up to the limit. If processes want more, each gets
-- the number it wants, up to a level that is the same for all. The rest, fewer permits
-- than processes, rotates: after a slice of time, it goes to the process that has been
-- without for the longest time. A process above its share returns permits as they
-- become free.
--
-- Tokens. tat is the time when the bucket is full again, by the tokens that are known
-- to be used. Tokens that were given out count as used, so in any time there are at
-- most depth + rate·time starts. The last token can be for later; the reply then has
-- its time. Processes that wait for a token form a queue.
local POLL, FRESH, AHEAD = 250000, 1000000, 50000
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local who, number, lease = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local tell, hinted = {}, {}

local function hint(name)
  if name ~= who and not hinted[name] then
    hinted[name] = true
    tell[#tell + 1] = name
  end
end

local function numbers(text)
  local list = {}
  for word in string.gmatch(text, '%S+') do
    list[#list + 1] = tonumber(word)
  end
  return list
end

local function text(...)
  return string.format(string.rep('%.0f ', select('#', ...)), ...)
end

-- fill divides a limit among processes. It sets the share of each, and returns
-- the level, and whether all get the number they want.
local function fill(all, limit)
  local list, sum = {}, 0
  for name, p in pairs(all) do
    p.name = name
    p.wants = p.fresh > now and math.max(p.want, 0) or p.held
    p.share = p.wants
    sum = sum + p.wants
    list[#list + 1] = p
  end
  if sum <= limit then
    return limit, true
  end
  table.sort(list, function(a, b) return a.wants < b.wants end)
  local rest, first = limit, 1
  while list[first].wants <= math.floor(rest / (#list - first + 1)) do
    rest = rest - list[first].wants
    first = first + 1
  end
  local level = math.floor(rest / (#list - first + 1))
  local extra, waiting = rest - level * (#list - first + 1), {}
  local slice = level > 0 and 1000000 or 200000
  for i = first, #list do
    local p = list[i]
    p.share = level
    p.slice = slice - (now - p.since)
    p.order = p.since
    if p.held > level and p.slice > 0 then
      p.order = -1
    end
    waiting[#waiting + 1] = p
  end
  table.sort(waiting, function(a, b)
    if a.order ~= b.order then
      return a.order < b.order
    end
    return a.name < b.name
  end)
  for i = 1, extra do
    waiting[i].share = level + 1
  end
  return level, false
end

local function permits(limit, keep, want)
  local key, all, others, gone = KEYS[1], {}, 0, {}
  local stored = redis.call('HGETALL', key)
  for i = 1, #stored, 2 do
    local n = numbers(stored[i + 1])
    if n[3] > now + lease then
      n[3], n[4], n[5] = now + lease, math.min(n[4], now + FRESH), math.min(n[5], now)
      redis.call('HSET', key, stored[i], text(unpack(n)))
    end
    if n[3] > now then
      all[stored[i]] = {held = n[1], want = n[2], ends = n[3], fresh = n[4], since = n[5], replied = n[6], number = n[7]}
      if stored[i] ~= who then
        others = others + n[1]
      end
    else
      gone[#gone + 1] = stored[i]
    end
  end
  for _, name in ipairs(gone) do
    redis.call('HDEL', key, name)
  end
  local me = all[who] or {held = 0, since = 0, replied = -1, number = 0}
  if number <= me.number then
    return me.held, me.replied, 0
  end
  me.held, me.want, me.ends, me.fresh, me.number = math.min(me.held, keep), want, now + lease, now + FRESH, number
  all[who] = me
  local level, enough = fill(all, limit)
  me.held = math.max(me.held, math.min(want, me.share, limit - others))
  local again = 0
  if want > me.held then
    again = POLL
  end
  if not enough and me.held > level and me.share > level then
    if me.slice <= 0 then
      me.since, me.slice = now, level > 0 and 1000000 or 200000
    end
    if again == 0 or me.slice < again then
      again = me.slice
    end
  end
  me.replied = enough and -1 or me.share
  if me.held == 0 and want == 0 then
    redis.call('HDEL', key, who)
    all[who] = nil
  else
    redis.call('HSET', key, who, text(me.held, me.want, me.ends, me.fresh, me.since, me.replied, me.number))
    redis.call('PEXPIRE', key, math.ceil(lease / 500))
  end
  local free = limit - others - me.held
  for name, p in pairs(all) do
    if p.held > p.share and p.replied ~= p.share or free > 0 and p.wants > p.held and p.share > p.held then
      hint(name)
    end
  end
  return me.held, me.replied, again
end

local function tokens(interval, depth, used, ago, want)
  local key, all, out, dead = KEYS[2], {}, 0, {}
  local tat, old = now, interval
  local stored, gone = redis.call('HGETALL', key), {}
  for i = 1, #stored, 2 do
    if stored[i] == 'tat' then
      tat = tonumber(stored[i + 1])
    elseif stored[i] == 'interval' then
      old = tonumber(stored[i + 1])
    else
      local n = numbers(stored[i + 1])
      if n[3] > now + lease then
        n[3], n[4], n[6], n[8] = now + lease, math.min(n[4], now), math.min(n[6], now + FRESH), math.min(n[8], now + AHEAD)
        redis.call('HSET', key, stored[i], text(unpack(n)))
      end
      local p = {out = n[1], used = n[2], ends = n[3], since = n[4], want = n[5], fresh = n[6], number = n[7], ready = n[8]}
      if p.ends > now then
        all[stored[i]] = p
      else
        gone[#gone + 1] = stored[i]
        out = out + p.out
        dead[#dead + 1] = p
      end
    end
  end
  table.sort(dead, function(a, b) return a.ends < b.ends or a.ends == b.ends and a.out < b.out end)
  for _, p in ipairs(dead) do -- tokens of dead processes count as used when their leases ended
    tat = math.max(tat, p.ends) + p.out * old
  end
  if #dead > 0 then -- even if the ask is late
    redis.call('HSET', key, 'tat', string.format('%.3f', tat))
  end
  for _, name in ipairs(gone) do
    redis.call('HDEL', key, name)
  end
  tat = math.min(tat, now + (depth + 1) * old + AHEAD)
  if old ~= interval then
    tat = now + math.min(math.max(tat - now, 0) / old, depth) * interval
  end
  local me = all[who] or {out = 0, used = used, since = 0, number = 0, ready = 0}
  if number <= me.number then
    return me.out, math.max(me.ready - now, 0), 0
  end
  local spent = math.max(used - me.used, 0)
  if spent > 0 then
    tat = math.max(tat, now - ago) + spent * interval
  end
  me.out = math.min(math.max(me.out - spent, 0), want)
  me.used, me.ends, me.number, me.want, me.fresh = used, now + lease, number, 0, 0
  out = 0
  local ahead = 0
  for name, p in pairs(all) do
    if name ~= who then
      out = out + p.out
      if p.since > 0 and p.fresh > now and (me.since == 0 or p.since < me.since or p.since == me.since and name < who) then
        ahead = ahead + p.want
      end
    end
  end
  local slice = math.max(1, math.floor(AHEAD / interval))
  local free = depth - math.max(tat - now, 0) / interval - out - me.out
  local need, again = want - me.out, 0
  if need > 0 then
    local have = math.floor(free - ahead + 1e-6)
    local wait = math.ceil((ahead + 1 - free) * interval)
    if have >= 1 then
      me.out = me.out + math.min(need, have, math.max(slice, math.floor(have / 2)))
      me.since = 0
    elseif ahead == 0 and me.out == 0 and wait <= AHEAD and wait <= tat - now then
      me.out, me.ready = 1, now + wait
      me.since = 0
    else
      me.since = me.since > 0 and me.since or now
      me.want = math.min(need, slice)
      again = math.max(1000, math.min(FRESH, wait - math.min(AHEAD, math.floor(interval / 2))))
      me.fresh = now + again + POLL
    end
  else
    me.since = 0
  end
  if me.out == 0 and want == 0 then
    redis.call('HDEL', key, who)
  else
    redis.call('HSET', key, who, text(me.out, me.used, me.ends, me.since, me.want, me.fresh, me.number, me.ready))
  end
  redis.call('HSET', key, 'tat', string.format('%.3f', tat), 'interval', string.format('%.17g', interval))
  redis.call('PEXPIRE', key, math.ceil((math.max(tat - now, 0) + (out + me.out) * interval + 2 * lease) / 1000))
  free = depth - math.max(tat - now, 0) / interval - out - me.out
  if free >= 1 then
    for name, p in pairs(all) do
      if p.since > 0 and p.fresh > now then
        hint(name)
      end
    end
  end
  return me.out, math.max(me.ready - now, 0), again
end

local held, share, again, on, after, later = 0, -1, 0, 0, 0, 0
if ARGV[4] ~= '0' then
  held, share, again = permits(tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]))
end
if ARGV[7] ~= '0' then
  on, after, later = tokens(tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11]))
end
if later > 0 and (again == 0 or later < again) then
  again = later
end
local reply = {held, share, on, math.ceil(after), math.ceil(again)}
for _, name in ipairs(tell) do
  reply[#reply + 1] = name
end
return reply
