package scrub

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// maxRecounts limits the tries to count a shard that other nodes write to, after
// which the next scrub counts it.
const maxRecounts = 5

// recount compares the counts of a shard with its records. Every stamp is used only
// once, so if two walks find the same stamps, no record changed between them, and the
// counts that are read between them must match the records.
func (sc *scrub) recount(ctx context.Context, sh *keyspace.Shard) error {
	for range maxRecounts {
		stamps, want, err := sc.countRecords(ctx, sh)
		if err != nil {
			return err
		}
		have, err := redisconn.ReadOne(ctx, sc.servers, rueidis.RedisResult.AsStrMap, func(b rueidis.Builder) rueidis.Completed { return b.Hgetall().Key(sh.Counts).Build() })
		if err != nil {
			return err
		}
		wrong := wrongCounts(have, want)
		if len(wrong) == 0 {
			return nil
		}
		same, _, err := sc.countRecords(ctx, sh)
		if err != nil {
			return err
		}
		n, err := redisconn.ReadOne(ctx, sc.servers, rueidis.RedisResult.AsInt64, func(b rueidis.Builder) rueidis.Completed { return b.Hlen().Key(sh.Records).Build() })
		if err != nil {
			return err
		}
		if unchanged(stamps, same) && int(n) == len(stamps) {
			return sc.correct(ctx, sh, wrong, have, want)
		}
	}
	return nil
}

// wrongCounts returns the fields of have that differ from want, where a missing field
// is 0.
func wrongCounts(have map[string]string, want map[string]int64) (wrong []string) {
	for f, value := range have {
		if n, err := strconv.ParseInt(value, 10, 64); err != nil || n != want[f] {
			wrong = append(wrong, f)
		}
	}
	for f, n := range want {
		if _, there := have[f]; !there && n != 0 {
			wrong = append(wrong, f)
		}
	}
	return wrong
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
		part, next, err := sc.scanKey(ctx, space{command: "HSCAN", key: sh.Records, bytes: -1}, scan, redisconn.MaxReads)
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

// correct writes the counts that are wrong, each only if it still has the value
// that was read.
func (sc *scrub) correct(ctx context.Context, sh *keyspace.Shard, wrong []string, have map[string]string, want map[string]int64) error {
	for _, f := range wrong {
		parts := strings.Split(f, "/")
		if len(parts) != 3 {
			return fmt.Errorf("count %q: %w", f, codec.ErrDamaged)
		}
		fix := redisconn.NewRepair(sh.Counts, f, -1, have[f])
		if want[f] == 0 {
			fix.Write("HDEL", sh.Counts, f)
		} else {
			fix.Write("HSET", sh.Counts, f, strconv.FormatInt(want[f], 10))
		}
		results, err := sc.servers.Mend(ctx, fix)
		if err != nil {
			return err
		}
		if results[0] < 0 {
			continue // another node is counting: the next scrub checks it again
		}
		q := task.QueueKey{Namespace: parts[0], Queue: parts[1]}
		what := fmt.Sprintf("the counts of queue %q were wrong", q.Queue)
		if q.OfOccurrences() {
			what = fmt.Sprintf("the number of unfinished tasks of schedule %q was wrong", q.Queue[1:])
		}
		sc.found(task.Key{Namespace: q.Namespace}, fmt.Sprintf("%s: %q was %s instead of %d", what, f, cmp.Or(have[f], "0"), want[f]))
	}
	return nil
}
