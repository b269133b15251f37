package redisstore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/lanes"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// checkInvariants fails the test if a key of s breaks an invariant of the
// package. No other goroutine may use the store at the same time.
func checkInvariants(t *testing.T, s *Store) {
	t.Helper()
	for _, w := range violations(t, s) {
		t.Error("wreckage:", w)
	}
}

// violations walks all keys of s and returns the broken invariants. It uses
// only the promises of doc.go, and nothing of the code that writes and scrubs.
// An Idempotency-Key without a record breaks none, because a failed create may
// leave one.
func violations(t *testing.T, s *Store) []string {
	t.Helper()
	w := &inspector{T: t, s: s, c: s.servers.Client}
	lanes := w.lanes()
	claims := map[string]string{} // Idempotency-Key → the name of its record
	for _, sh := range s.shards {
		w.shard(sh, lanes[sh.Prefix], claims)
	}
	for digest, name := range claims {
		namespace, rest, _ := strings.Cut(digest, "/")
		value, _ := w.c.Do(t.Context(), w.c.B().Hget().Key(s.idemShard(namespace, rest).Idem).Field(digest).Build()).ToString()
		if _, has, _ := strings.Cut(value, "/"); has != name {
			w.found("the Idempotency-Key %s of %s is %q's", digest, name, has)
		}
	}
	slices.Sort(w.all)
	return w.all
}

type inspector struct {
	*testing.T
	s   *Store
	c   rueidis.Client
	all []string
}

func (w *inspector) found(format string, args ...any) {
	w.all = append(w.all, fmt.Sprintf(format, args...))
}

// lanes returns the lanes with an index, by the prefix of the shard.
func (w *inspector) lanes() map[string][]string {
	lanes := map[string][]string{}
	for _, node := range w.c.Nodes() {
		var cursor uint64
		for {
			var e rueidis.ScanEntry
			redistest.Until(w, "the keys of a server", func() (ok bool) { // its connection may have been cut before
				var err error
				e, err = node.Do(w.Context(), node.B().Scan().Cursor(cursor).Match("foliot:*:due:*").Count(1000).Build()).AsScanEntry()
				return err == nil
			})
			for _, key := range e.Elements {
				prefix, lane, _ := strings.Cut(key, "due:")
				if !slices.Contains(lanes[prefix], lane) {
					lanes[prefix] = append(lanes[prefix], lane)
				}
			}
			if cursor = e.Cursor; cursor == 0 {
				break
			}
		}
	}
	return lanes
}

func (w *inspector) hash(key string) map[string]string {
	m, err := redisconn.ReadOne(w.Context(), w.s.servers, rueidis.RedisResult.AsStrMap, func(b rueidis.Builder) rueidis.Completed { return b.Hgetall().Key(key).Build() })
	fatal.If(w, err)
	return m
}

func (w *inspector) set(key string) map[string]task.Millis {
	scores, err := redisconn.ReadOne(w.Context(), w.s.servers, rueidis.RedisResult.AsZScores, func(b rueidis.Builder) rueidis.Completed {
		return b.Zrange().Key(key).Min("0").Max("-1").Withscores().Build()
	})
	fatal.If(w, err)
	m := map[string]task.Millis{}
	for _, z := range scores {
		m[z.Member] = task.Millis(z.Score)
	}
	return m
}

// shard checks one shard. members are the lanes of its due indexes.
func (w *inspector) shard(sh *keyspace.Shard, members []string, claims map[string]string) {
	type entry struct{ key, member string }
	want, counts, bodies := map[entry]task.Millis{}, map[task.QueueKey]task.Counts{}, w.hash(sh.Body)
	for f, value := range w.hash(sh.Records) {
		key, err := keyspace.ParseField(f)
		fatal.If(w, err)
		r, err := records.Parse(key, value)
		fatal.If(w, err)
		t := r.Task
		want[entry{sh.Names, f}] = 0
		switch t.State {
		case task.Scheduled:
			want[entry{sh.Due(keyspace.LaneMember(t.Lane())), t.Name}] = t.Due
		case task.Running:
			want[entry{sh.Running, f}] = t.Lease.Until
		default:
			ends := sh.Gone
			if t.State == task.Dead {
				ends = sh.Dead
			}
			want[entry{ends, t.Namespace + "/" + t.EndedPlace()}] = 0
			want[entry{sh.Keep, f}] = t.KeepUntil
		}
		c := counts[task.QueueKey{Namespace: t.Namespace, Queue: t.Queue}]
		c.Move(nil, t)
		counts[task.QueueKey{Namespace: t.Namespace, Queue: t.Queue}] = c
		if line, change := task.Unfinished(nil, t); change != 0 {
			c := counts[line]
			c.States[task.Scheduled] += change
			counts[line] = c
		}
		if body, ok := bodies[f]; len(body)+len(r.Inline) != t.Request.BodySize || ok && body == "" || ok != r.Apart() {
			w.found("the body of %s has %d bytes, not %d", f, len(body), t.Request.BodySize)
		}
		delete(bodies, f)
		if s := w.s.shard(key); s != sh {
			w.found("%s lies in shard %d, not in %d", f, sh.Number, s.Number)
		}
		if t.Idempotency != nil {
			claims[t.Namespace+"/"+t.Idempotency.Key] = t.Name
		}
	}
	for f := range bodies {
		w.found("%s has a body and no record", f)
	}
	bounds := w.set(sh.Lanes)
	keys := []string{sh.Names, sh.Running, sh.Dead, sh.Gone, sh.Keep}
	for _, lane := range members {
		keys = append(keys, sh.Due(lane))
		first := lanes.Forever
		for _, due := range w.set(sh.Due(lane)) {
			first = min(first, due)
		}
		if bound, ok := bounds[lane]; !ok || bound > first {
			w.found("lane %s begins at %d, and the index of lanes says %d", lane, first, bound)
		}
	}
	for _, key := range keys {
		for member, at := range w.set(key) {
			e := entry{key, member}
			if wanted, ok := want[e]; !ok || wanted != at {
				w.found("%s has %s at %d: %v, %d", key, member, at, ok, wanted)
			}
			delete(want, e)
		}
	}
	for e, at := range want {
		w.found("%s lacks %s at %d", e.key, e.member, at)
	}
	w.counts(sh, counts)
}

func (w *inspector) counts(sh *keyspace.Shard, want map[task.QueueKey]task.Counts) {
	have := map[task.QueueKey]task.Counts{}
	fields, err := w.c.Do(w.Context(), w.c.B().Hgetall().Key(sh.Counts).Build()).AsIntMap()
	fatal.If(w, err)
	for f, n := range fields {
		if n == 0 {
			w.found("shard %d keeps the count %s of nothing", sh.Number, f)
		}
		fatal.If(w, records.AddCount(have, f, n))
	}
	for q := range have {
		if _, ok := want[q]; !ok {
			want[q] = task.Counts{}
		}
	}
	for _, q := range slices.SortedFunc(maps.Keys(want), task.QueueKey.Compare) {
		if have[q] != want[q] {
			w.found("shard %d counts %v of %v, and has %v", sh.Number, have[q], q, want[q])
		}
	}
}
