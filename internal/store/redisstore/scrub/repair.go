package scrub

import (
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
	return err == nil && results[0] > 0, err
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
	numbers, err := redisconn.Read(ctx, sc.servers, numberOf, commands...)
	if err != nil {
		return err
	}
	for _, one := range all {
		if err := sc.record(ctx, sh, one, numbers[one.at:]); err != nil {
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

// number is a score or a length.
type number struct {
	n     task.Millis
	found bool
}

func numberOf(r rueidis.RedisResult) (number, error) {
	m, err := r.ToMessage()
	if err != nil || m.IsInt64() {
		n, _ := m.AsInt64()
		return number{task.Millis(n), err == nil}, err
	}
	f, err := m.AsFloat64()
	return number{task.Millis(f), err == nil}, err
}

// record adds the missing or wrong entries of a record. have begins with its
// body's length, its name, its lane's bound and its index entries.
func (sc *scrub) record(ctx context.Context, sh *keyspace.Shard, r examined, have []number) error {
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
	if r.Apart() && int(have[0].n) != r.Task.Request.BodySize {
		if err := sc.body(ctx, r.Task); err != nil {
			return err
		}
	}
	f, first, bound := keyspace.Field(r.Task.Key()), r.entries[0], have[2]
	whole := have[1].found && (first.Lane == "" || bound.found && bound.n <= first.Score)
	fix := records.RepairOf(sh, f, r.Stamp)
	fix.Write("ZADD", sh.Names, "CH", "0", f)
	for i, e := range r.entries {
		whole = whole && have[3+i] == number{e.Score, true}
		fix.Write("ZADD", e.Key, "CH", redisconn.Score(e.Score), e.Member)
	}
	if whole {
		return nil
	}
	if first.Lane != "" {
		fix.Write("ZADD", sh.Lanes, "LT", "CH", redisconn.Score(first.Score), first.Lane)
	}
	repaired, err := sc.mend(ctx, fix)
	if err != nil || !repaired {
		return err
	}
	if r.Task.State == task.Scheduled {
		sc.own.Added([]task.Entry{r.Task.Entry()})
	}
	sc.found(r.Task.Key(), "its name, an index entry or the entry of its lane was missing or wrong: the task would have been listed, sent, taken back or removed late or never")
	return nil
}

// body logs a record that has lost its body, because no repair can restore a body.
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

// entries returns a function that examines members of a key, and removes those that
// their records do not have there. fieldOf returns the field of a member's record.
func (sc *scrub) entries(key string, fieldOf func(member string) string) func(context.Context, *keyspace.Shard, []member) error {
	return func(ctx context.Context, sh *keyspace.Shard, part []member) error {
		if len(part) == 0 {
			return nil
		}
		fields := make([]string, len(part))
		for i, m := range part {
			fields[i] = fieldOf(m.name)
		}
		values, err := redisconn.ReadOne(ctx, sc.servers, rueidis.RedisResult.AsStrSlice, func(b rueidis.Builder) rueidis.Completed { return b.Hmget().Key(sh.Records).Field(fields...).Build() }) // a missing record is ""
		for i := 0; i < len(values) && err == nil; i++ {
			err = sc.belongs(ctx, sh, key, part[i].name, fields[i], values[i])
		}
		return err
	}
}

// belongs removes a member of a key, unless the record in value has it there.
func (sc *scrub) belongs(ctx context.Context, sh *keyspace.Shard, key, name, field, value string) error {
	owner, err := keyspace.ParseField(field)
	if err != nil {
		return err
	}
	r, err := records.Parse(owner, value)
	if err != nil || has(sh, r, key, name) {
		return err
	}
	fix, remove := records.RepairOf(sh, field, r.Stamp), "ZREM"
	if key == sh.Body {
		remove = "HDEL"
	}
	fix.Write(remove, key, name)
	repaired, err := sc.mend(ctx, fix)
	if repaired {
		sc.found(owner, store.FoundEntry(key, r.Task != nil))
	}
	return err
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
