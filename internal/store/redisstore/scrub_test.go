package redisstore

import (
	"context"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// scrubbed scrubs from start to end, and returns the repairs.
func scrubbed(t *testing.T, s *Store, limit int) (found []store.Repair) {
	t.Helper()
	for cursor := ""; ; {
		step, err := s.Scrub(t.Context(), began, cursor, limit)
		fatal.If(t, err)
		if step.Examined > limit {
			t.Fatalf("a step of %d examined %d", limit, step.Examined)
		}
		found = append(found, step.Repairs...)
		if cursor = step.Next; cursor == "" {
			return found
		}
	}
}

// fillStates fills s with tasks in every state: "due", "runs", "dead", "gone",
// "keyed".
func fillStates(t *testing.T, s *Store) {
	t.Helper()
	var changes []task.Change
	for _, name := range []string{"due", "runs", "dead", "gone"} {
		changes = append(changes, task.Create{Spec: specOf(name, began)})
	}
	changes = append(changes, task.Create{Spec: specOf("keyed", began), Idempotency: &task.Idempotency{Key: strings.Repeat("k", 64), Fingerprint: "f"}})
	for i := range 120 {
		changes = append(changes, task.Create{Spec: specOf("m"+string(rune('a'+i%26))+strings.Repeat("x", i/26), began+task.Millis(i))})
	}
	replies, err := s.Transit(t.Context(), began, store.Changes(changes))
	fatal.If(t, err)
	for _, r := range replies[1:4] {
		fatal.If(t, errOf(s.Transit(t.Context(), began, store.Claims([]task.Claim{tasktest.Claim(r.Task, "1", began+15_000)}))))
	}
	for name, v := range map[string]task.Verdict{"dead": task.Refusal, "gone": task.Success} {
		fatal.If(t, errOf(s.Transit(t.Context(), began, store.Settlements([]task.Settlement{{Key: tasktest.Key(name), Token: "1", Outcome: task.Outcome{Verdict: v}}}))))
	}
}

// A scrub repairs any damage around a record, reports it, and changes nothing
// else.
func TestAScrubRepairsEveryDamage(t *testing.T) {
	quick.Leave(t, "tries every damage")
	t.Parallel()
	server := redistest.New(t)
	s := emptied(server.Addr)(t).(*Store)
	defer func() { _ = s.Close() }()
	fillStates(t, s)
	checkInvariants(t, s)
	if found := scrubbed(t, s, 100); len(found) > 0 {
		t.Fatalf("repaired %+v where nothing was wrong", found)
	}
	of := func(name string) *keyspace.Shard { return s.shard(tasktest.Key(name)) }
	due := of("due")
	got, err := s.Get(t.Context(), tasktest.Key("due"))
	fatal.If(t, err)
	lane := keyspace.LaneMember(got.Lane())
	digest := task.DefaultNamespace + "/" + strings.Repeat("k", 64)
	limits := []int{20}
	if !testing.Short() {
		limits = []int{1, 20, 1000}
	}
	f := func(name string) string { return keyspace.Field(tasktest.Key(name)) }
	end := func(name string, at task.Millis) string { return keyspace.EndMember(task.DefaultNamespace, at, name) }
	for what, command := range map[string][]string{
		"a due entry is gone":                        {"ZREM", due.Due(lane), "due"},
		"a due entry is at the wrong time":           {"ZADD", due.Due(lane), "9999999999999", "due"},
		"a due entry without a record":               {"ZADD", due.Due(lane), "1", "nobody"},
		"a due entry of one that runs":               {"ZADD", of("runs").Due(lane), "1", "runs"},
		"a lane is unknown":                          {"ZREM", due.Lanes, lane},
		"a lane begins too late":                     {"ZADD", due.Lanes, "9999999999999", lane},
		"a lease is in no index":                     {"ZREM", of("runs").Running, f("runs")},
		"a lease ends at another time":               {"ZADD", of("runs").Running, "1", f("runs")},
		"a running entry without a record":           {"ZADD", due.Running, "1", f("nobody")},
		"a running entry of one that waits":          {"ZADD", due.Running, "1", f("due")},
		"a dead one is in no list":                   {"ZREM", of("dead").Dead, end("dead", began)},
		"a dead entry of one that is gone":           {"ZADD", of("gone").Dead, "0", end("gone", began)},
		"one that is gone is in no list":             {"ZREM", of("gone").Gone, end("gone", began)},
		"a gone entry at another time":               {"ZADD", of("gone").Gone, "0", end("gone", began-1)},
		"a gone entry without a record":              {"ZADD", due.Gone, "0", end("nobody", began)},
		"a gone entry without a name":                {"ZADD", due.Gone, "0", "x"},
		"a dead one is never removed":                {"ZREM", of("dead").Keep, f("dead")},
		"one that is gone is removed early":          {"ZADD", of("gone").Keep, "1", f("gone")},
		"a kept entry of one that waits":             {"ZADD", due.Keep, "1", f("due")},
		"a record has no name":                       {"ZREM", due.Names, f("due")},
		"a name without a record":                    {"ZADD", due.Names, "0", f("nobody")},
		"a body without a record":                    {"HSET", due.Body, f("nobody"), "x"},
		"a body that the record has":                 {"HSET", due.Body, f("due"), "x"},
		"counts are wrong":                           {"HINCRBY", due.Counts, records.CountField(task.QueueKey{Namespace: got.Namespace, Queue: got.Queue}, "0"), "3"},
		"the bytes of a queue are wrong":             {"HINCRBY", due.Counts, records.CountField(task.QueueKey{Namespace: got.Namespace, Queue: got.Queue}, "bytes"), "-7"},
		"unfinished occurrences are counted wrongly": {"HSET", of("due").Counts, records.UnfinishedField(task.ScheduleKey(task.DefaultNamespace, "nightly").UnfinishedCounter()), "7"},
		"a queue that has nothing is counted":        {"HSET", due.Counts, "default/none/0", "4"},
		"an Idempotency-Key is unknown":              {"HDEL", s.idemShard(task.DefaultNamespace, strings.Repeat("k", 64)).Idem, digest},
	} {
		for _, limit := range limits {
			if reply, err := redistest.Command(t.Context(), server.Addr, command...); err != nil || strings.HasPrefix(reply, "-") {
				t.Fatal(reply, err)
			}
			if len(violations(t, s)) == 0 {
				t.Fatalf("%s: the walk does not see it", what)
			}
			found := scrubbed(t, s, limit)
			if len(found) == 0 || found[0].Found == "" {
				t.Errorf("%s, in steps of %d: repaired %+v", what, limit, found)
			}
			for _, w := range violations(t, s) {
				t.Errorf("%s, in steps of %d: after the scrub: %s", what, limit, w)
			}
			if found := scrubbed(t, s, limit); len(found) > 0 {
				t.Errorf("%s: a second scrub repaired %+v", what, found)
			}
		}
	}
}

// An Idempotency-Key without a record is dropped when it is old, and not while
// its create may be under way.
func TestAScrubDropsOldIdempotencyKeysWithoutARecord(t *testing.T) {
	server := redistest.New(t)
	s := emptied(server.Addr)(t).(*Store)
	defer func() { _ = s.Close() }()
	sh := s.idemShard(task.DefaultNamespace, "young")
	ctx := context.WithoutCancel(t.Context())
	fatal.If(t, errOf(idemTake(ctx, s, sh, "default/young", "a")))
	if reply, err := redistest.Command(ctx, server.Addr, "HSET", sh.Idem, "default/old", "1700000000000/b"); err != nil || reply != ":1" {
		t.Fatal(reply, err)
	}
	if found := scrubbed(t, s, 10); len(found) > 0 {
		t.Errorf("repaired %+v", found)
	}
	for key, want := range map[string]string{"default/young": ":1", "default/old": ":0"} {
		if got, err := redistest.Command(ctx, server.Addr, "HEXISTS", sh.Idem, key); err != nil || got != want {
			t.Errorf("%s: %s, %v", key, got, err)
		}
	}
}

func idemTake(ctx context.Context, s *Store, sh *keyspace.Shard, digest, name string) (bool, error) {
	results, err := s.servers.Repeat(ctx, records.Idem, redisconn.Run{Keys: []string{sh.Idem, sh.Own}, Args: []string{s.servers.Identity, "take", digest, name, ""}})
	if err != nil {
		return false, err
	}
	return true, results[0].Error()
}

// Counts are compared even while other calls write, and correct ones stay
// untouched.
func TestAScrubCountsCorrectlyDuringWrites(t *testing.T) {
	s := emptied(redistest.New(t).Addr)(t).(*Store)
	defer func() { _ = s.Close() }()
	fillStates(t, s)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			name := "w" + string(rune('a'+i%26))
			change := task.Change(task.Replace{Spec: specOf(name, began+task.Millis(i))})
			if i%3 == 0 {
				change = task.Cancel{Key: tasktest.Key(name)}
			}
			_, _ = s.Transit(ctx, began, store.Changes([]task.Change{change}))
		}
	}()
	for range 4 {
		if found := scrubbed(t, s, 1000); len(found) > 0 {
			t.Errorf("repaired %+v", found)
		}
	}
	stop()
	<-ended
	checkInvariants(t, s)
}
