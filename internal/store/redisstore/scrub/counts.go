package scrub

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// maxRecounts limits the tries to count a shard that other nodes write to.
// After that, the next scrub counts the shard.
const maxRecounts = 5

// recount compares the counts of a shard with its records. Every stamp is used
// only once. So if two walks find the same stamps, no record changed between
// them, and the counts that are read between them must match the records.
func (sc *scrub) recount(ctx context.Context, sh *keyspace.Shard) error {
	for range maxRecounts {
		stamps, want, err := sc.countRecords(ctx, sh)
		if err != nil {
			return err
		}
		have, err := sc.fields(ctx, sh)
		if err != nil || maps.Equal(have, want) {
			return err
		}
		same, _, err := sc.countRecords(ctx, sh)
		if err != nil {
			return err
		}
		r, err := sc.servers.One(ctx, func(b rueidis.Builder) rueidis.Completed { return b.Hlen().Key(sh.Meta).Build() })
		if err != nil {
			return err
		}
		n, err := r.AsInt64()
		if err != nil {
			return err
		}
		if unchanged(stamps, same) && int(n) == len(stamps) {
			return sc.correct(ctx, sh, have, want)
		}
	}
	return nil
}

// unchanged reports whether two walks found the same stamps, and no record twice.
func unchanged(a, b map[string]string) bool {
	return maps.EqualFunc(a, b, func(a, b string) bool { return a == b && a != "" })
}

// countRecords returns the stamps of a shard's records, and the fields of their
// counts.
func (sc *scrub) countRecords(ctx context.Context, sh *keyspace.Shard) (stamps map[string]string, counts map[string]int64, err error) {
	stamps, counts = map[string]string{}, map[string]int64{}
	it := redisconn.Item{Shard: sh}
	for scan := "0"; ; {
		part, next, err := sc.scanKey(ctx, "HSCAN", sh.Meta, scan, redisconn.MaxReads, -1)
		if err != nil {
			return nil, nil, err
		}
		for _, m := range part {
			key, err := keyspace.ParseField(m.name)
			if err != nil {
				return nil, nil, err
			}
			r, err := records.Parse(key, m.value)
			if err != nil {
				return nil, nil, err
			}
			switch old, twice := stamps[m.name]; {
			case !twice:
				stamps[m.name] = r.Stamp
				records.MoveCounts(&it, nil, r.Task)
			case old != r.Stamp:
				stamps[m.name] = "" // like a missing stamp: the record changed during the walk
			}
		}
		if scan = next; scan == "0" {
			break
		}
	}
	for _, w := range it.Writes {
		n, _ := strconv.ParseInt(w.Args[1], 10, 64)
		counts[w.Args[0]] += n
	}
	return stamps, counts, nil
}

// fields returns the fields of a shard's counts that are not zero.
func (sc *scrub) fields(ctx context.Context, sh *keyspace.Shard) (map[string]int64, error) {
	r, err := sc.servers.One(ctx, func(b rueidis.Builder) rueidis.Completed { return b.Hgetall().Key(sh.Counts).Build() })
	if err != nil {
		return nil, err
	}
	have, err := r.AsIntMap()
	maps.DeleteFunc(have, func(_ string, n int64) bool { return n == 0 })
	return have, err
}

// correct writes the counts that are wrong, each only if it still has the value
// that was read.
func (sc *scrub) correct(ctx context.Context, sh *keyspace.Shard, have, want map[string]int64) error {
	all := maps.Clone(have)
	maps.Copy(all, want)
	for f := range all {
		if have[f] == want[f] {
			continue
		}
		r, err := sc.servers.One(ctx, func(b rueidis.Builder) rueidis.Completed { return b.Hget().Key(sh.Counts).Field(f).Build() })
		if err != nil {
			return err
		}
		value, err := r.ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return err
		}
		if n, _ := strconv.ParseInt(value, 10, 64); n != have[f] {
			continue // another node is counting: the next scrub checks it again
		}
		fix := redisconn.NewRepair(sh.Counts, f, -1, value)
		if want[f] == 0 {
			fix.Write("HDEL", sh.Counts, f)
		} else {
			fix.Write("HSET", sh.Counts, f, strconv.FormatInt(want[f], 10))
		}
		results, err := sc.servers.Mend(ctx, fix)
		if err != nil {
			return err
		}
		if n, err := results[0].AsInt64(); err != nil || n < 0 {
			return err
		}
		q, err := queueOfCount(f)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("the counts of queue %q were wrong", q.Queue)
		if q.OfOccurrences() {
			what = fmt.Sprintf("the number of unfinished tasks of schedule %q was wrong", q.Queue[1:])
		}
		sc.found(task.Key{Namespace: q.Namespace}, fmt.Sprintf("%s: %q was %d instead of %d", what, f, have[f], want[f]))
	}
	return nil
}

func queueOfCount(f string) (task.QueueKey, error) {
	one := map[task.QueueKey]task.Counts{}
	if err := records.AddCount(one, f, 1); err != nil {
		return task.QueueKey{}, err
	}
	for q := range one {
		return q, nil
	}
	return task.QueueKey{}, errDamaged
}
