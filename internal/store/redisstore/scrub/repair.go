package scrub

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// mend applies a repair, and reports whether it changed anything.
func (s *Scrubber) mend(ctx context.Context, r *redisconn.Repair) (bool, error) {
	results, err := s.servers.Mend(ctx, r)
	if err != nil {
		return false, err
	}
	n, err := results[0].AsInt64()
	return n > 0, err
}

// examineRecords examines records: their names, their index entries, and those
// of their lanes.
func (sc *scrub) examineRecords(ctx context.Context, sh *keyspace.Shard, part []member) error {
	var all []examined
	var commands []redisconn.Command
	for _, m := range part {
		key, err := keyspace.ParseField(m.name)
		if err != nil {
			return err
		}
		r, err := records.Parse(key, m.value)
		if err != nil {
			return err
		}
		one := examined{Record: r, entries: records.EntriesIn(sh, r.Task), at: len(commands)}
		all = append(all, one)
		commands = append(commands,
			func(b rueidis.Builder) rueidis.Completed { return b.Hstrlen().Key(sh.Body).Field(m.name).Build() },
			func(b rueidis.Builder) rueidis.Completed { return b.Zscore().Key(sh.Names).Member(m.name).Build() },
			func(b rueidis.Builder) rueidis.Completed {
				return b.Zscore().Key(sh.Lanes).Member(one.entries[0].Lane).Build()
			})
		for _, e := range one.entries {
			commands = append(commands, func(b rueidis.Builder) rueidis.Completed { return b.Zscore().Key(e.Key).Member(e.Member).Build() })
		}
	}
	results, err := sc.servers.Ask(ctx, commands...)
	if err != nil {
		return err
	}
	for _, one := range all {
		if err := sc.record(ctx, sh, one, results[one.at:]); err != nil {
			return err
		}
	}
	return nil
}

// examined is a record, and the place of the first reply about it.
type examined struct {
	records.Record
	entries []records.Entry
	at      int
}

// record adds the missing or wrong entries of a record. have begins with its
// body's length, its name, its lane's bound and its index entries.
func (sc *scrub) record(ctx context.Context, sh *keyspace.Shard, r examined, have []rueidis.RedisResult) error {
	if back, abandoned := sc.abandoned.Find(sc.now, r.Task); abandoned {
		taken, err := sc.config.TakeBack(ctx, sc.now, back)
		if err == nil && taken {
			sc.found(r.Task.Key(), store.FoundAbandoned)
		}
		return err
	}
	if err := sc.claim(ctx, r.Task); err != nil {
		return err
	}
	size, err := have[0].AsInt64()
	_, whole, err1 := scoreOf(have[1])
	bound, bounded, err2 := scoreOf(have[2])
	if err := cmp.Or(err, err1, err2); err != nil {
		return err
	}
	f, first := keyspace.Field(r.Task.Key()), r.entries[0]
	whole = whole && (first.Lane == "" || bounded && bound <= first.Score)
	for i, e := range r.entries {
		at, placed, err := scoreOf(have[3+i])
		if err != nil {
			return err
		}
		whole = whole && placed && at == e.Score
	}
	if r.Apart() && int(size) != r.Task.Request.BodySize {
		if err := sc.body(ctx, r.Task); err != nil {
			return err
		}
	}
	if whole {
		return nil
	}
	fix := records.RepairOf(sh, f, r.Stamp)
	fix.Write("ZADD", sh.Names, "CH", "0", f)
	for _, e := range r.entries {
		fix.Write("ZADD", e.Key, "CH", redisconn.Score(e.Score), e.Member)
	}
	if first.Lane != "" {
		fix.Write("ZADD", sh.Lanes, "LT", "CH", redisconn.Score(first.Score), first.Lane)
	}
	repaired, err := sc.mend(ctx, fix)
	if err != nil || !repaired {
		return err
	}
	if r.Task.State == task.Scheduled {
		sc.lanes.Added([]task.Entry{r.Task.Entry()})
	}
	sc.found(r.Task.Key(), "its name, an index entry or the entry of its lane was missing or wrong: the task would have been listed, sent, taken back or removed late or never")
	return nil
}

func scoreOf(r rueidis.RedisResult) (at task.Millis, ok bool, err error) {
	f, err := r.AsFloat64()
	if rueidis.IsRedisNil(err) {
		return 0, false, nil
	}
	return task.Millis(f), err == nil, err
}

// body logs a record that has lost its body. No repair can restore a body.
func (sc *scrub) body(ctx context.Context, t *task.Task) error {
	got, err := sc.records.ReadAll(ctx, []records.Read{{Key: t.Key(), Body: true}}) // both at the same moment
	if err != nil {
		return err
	}
	if now := got[0].Task; now != nil && len(got[0].Body) != now.Request.BodySize {
		sc.config.Logger.Error("a task has lost its body: replace or cancel the task", "namespace", t.Namespace, "task", t.Name)
	}
	return nil
}

// entries examines members that are tasks, and removes those that their record
// does not have.
func (sc *scrub) entries(key string) func(context.Context, *keyspace.Shard, []member) error {
	return sc.entriesOf(key, func(member string) string { return member })
}

// entriesOf is entries for members of another form: fieldOf returns the field of
// the task.
func (sc *scrub) entriesOf(key string, fieldOf func(member string) string) func(context.Context, *keyspace.Shard, []member) error {
	return func(ctx context.Context, sh *keyspace.Shard, part []member) error {
		fields := make([]string, len(part))
		for i, m := range part {
			fields[i] = fieldOf(m.name)
		}
		return sc.belonging(ctx, sh, key, fields, part)
	}
}

// belonging removes the members of a key that their records (fields) do not
// have there.
func (sc *scrub) belonging(ctx context.Context, sh *keyspace.Shard, key string, fields []string, part []member) error {
	if len(fields) == 0 {
		return nil
	}
	r, err := sc.servers.One(ctx, func(b rueidis.Builder) rueidis.Completed { return b.Hmget().Key(sh.Meta).Field(fields...).Build() })
	if err != nil {
		return err
	}
	values, err := r.ToArray()
	if err != nil {
		return err
	}
	for i, v := range values {
		owner, err := keyspace.ParseField(fields[i])
		if err != nil {
			return err
		}
		value, err := v.ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return err
		}
		r, err := records.Parse(owner, value)
		if err != nil {
			return err
		}
		if has(sh, r, key, part[i].name) {
			continue
		}
		fix, remove := records.RepairOf(sh, fields[i], r.Stamp), "ZREM"
		if key == sh.Body {
			remove = "HDEL"
		}
		fix.Write(remove, key, part[i].name)
		repaired, err := sc.mend(ctx, fix)
		if err != nil {
			return err
		}
		if repaired {
			sc.found(owner, store.FoundEntry(key, r.Task != nil))
		}
	}
	return nil
}

// has reports whether a record has a member in a key.
func has(sh *keyspace.Shard, r records.Record, key, name string) bool {
	switch {
	case r.Task == nil:
		return false
	case key == sh.Names:
		return true
	case key == sh.Body:
		return r.Apart()
	}
	return slices.ContainsFunc(records.EntriesIn(sh, r.Task), func(e records.Entry) bool { return e.Key == key && e.Member == name })
}

// laneBounds examines the index of lanes.
func (sc *scrub) laneBounds(ctx context.Context, sh *keyspace.Shard, part []member) error {
	if len(part) == 0 {
		return nil
	}
	members := make([]string, len(part))
	for i, m := range part {
		members[i] = m.name
	}
	wrong, err := sc.lanes.Correct(ctx, sh, members)
	if err == nil && wrong > 0 {
		sc.found(task.Key{}, strconv.FormatInt(wrong, 10)+" lanes of "+sh.Lanes+" had a bound after their first task, which would have been late")
	}
	return err
}
