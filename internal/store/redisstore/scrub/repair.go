package scrub

import (
	"context"
	"strconv"
	"strings"

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
	var all []records.Record
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
		p := records.PlaceIn(sh, r.Task)
		all = append(all, r)
		commands = append(commands,
			func(b rueidis.Builder) rueidis.Completed { return b.Zscore().Key(p.Key).Member(p.Member).Build() },
			func(b rueidis.Builder) rueidis.Completed { return b.Zscore().Key(sh.Names).Member(m.name).Build() },
			func(b rueidis.Builder) rueidis.Completed { return b.Zscore().Key(sh.Lanes).Member(p.Lane).Build() },
			func(b rueidis.Builder) rueidis.Completed { return b.Hstrlen().Key(sh.Body).Field(m.name).Build() })
	}
	results, err := sc.servers.Ask(ctx, commands...)
	if err != nil {
		return err
	}
	for i, r := range all {
		if err := sc.record(ctx, sh, r, results[4*i:4*i+4]); err != nil {
			return err
		}
	}
	return nil
}

// record adds the missing or wrong entries of a record. have holds its index
// entry, its name, its lane's bound and its body's length.
func (sc *scrub) record(ctx context.Context, sh *keyspace.Shard, r records.Record, have []rueidis.RedisResult) error {
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
	p, f := records.PlaceIn(sh, r.Task), keyspace.Field(r.Task.Key())
	at, placed, err1 := scoreOf(have[0])
	_, named, err2 := scoreOf(have[1])
	bound, bounded, err3 := scoreOf(have[2])
	size, err4 := have[3].AsInt64()
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			return err
		}
	}
	if r.Apart() && int(size) != r.Task.Request.BodySize {
		if err := sc.body(ctx, r.Task); err != nil {
			return err
		}
	}
	if placed && named && at == p.Score && (p.Lane == "" || bounded && bound <= p.Score) {
		return nil
	}
	fix := records.RepairOf(sh, f, r.Stamp)
	fix.Write("ZADD", sh.Names, "CH", "0", f)
	fix.Write("ZADD", p.Key, "CH", redisconn.Score(p.Score), p.Member)
	if p.Lane != "" {
		fix.Write("ZADD", sh.Lanes, "LT", "CH", redisconn.Score(p.Score), p.Lane)
	}
	repaired, err := sc.mend(ctx, fix)
	if err != nil || !repaired {
		return err
	}
	if r.Task.State == task.Scheduled {
		sc.lanes.Added([]task.Entry{r.Task.Entry()})
	}
	sc.found(r.Task.Key(), "its name, its index entry or the entry of its lane was missing or wrong: the task would have been listed, sent, taken back or removed late or never")
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
	return func(ctx context.Context, sh *keyspace.Shard, part []member) error {
		fields := make([]string, len(part))
		for i, m := range part {
			fields[i] = m.name
		}
		return sc.belonging(ctx, sh, key, fields, part)
	}
}

// dueEntries is entries for a lane, where members are names without a
// namespace.
func (sc *scrub) dueEntries(lane string) func(context.Context, *keyspace.Shard, []member) error {
	return func(ctx context.Context, sh *keyspace.Shard, part []member) error {
		namespace, _, _ := strings.Cut(lane, "/")
		fields := make([]string, len(part))
		for i, m := range part {
			fields[i] = namespace + "/" + m.name
		}
		return sc.belonging(ctx, sh, sh.Due(lane), fields, part)
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
	p := records.PlaceIn(sh, r.Task)
	return p.Key == key && p.Member == name
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
