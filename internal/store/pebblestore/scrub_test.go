package pebblestore

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/lowwater"
	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// scrubAll scrubs the whole store and returns the repairs.
func scrubAll(t testing.TB, s *Store, now task.Millis, limit int) (repairs []store.Repair, examined int) {
	t.Helper()
	for cursor := ""; ; {
		done, err := s.Scrub(t.Context(), now, cursor, limit)
		if err != nil {
			t.Fatalf("Scrub from %q: %v", cursor, err)
		}
		if done.Examined > limit {
			t.Fatalf("a step of %d examined %d", limit, done.Examined)
		}
		repairs, examined = append(repairs, done.Repairs...), examined+done.Examined
		if done.Next == "" {
			return repairs, examined
		}
		if done.Next == cursor {
			t.Fatalf("the cursor stays at %q", cursor)
		}
		cursor = done.Next
	}
}

// scrubWorld returns a store with a task in each state, and many that wait.
func scrubWorld(t *testing.T) *Store {
	t.Helper()
	s := open(t, vfs.NewMem(), Config{Now: clock})
	mustApply(t, s, creates(100, 50, later))
	for _, name := range []string{"waits", "runs", "done", "dead", "urgent"} {
		spec := newSpec(name, benchStart)
		change := task.Create{Spec: spec, Idempotency: &task.Idempotency{Key: "key of " + name, Fingerprint: "f"}}
		fatal.If(t, apply(t.Context(), s, change))
	}
	for _, name := range []string{"runs", "dead"} {
		fatal.If(t, claimOne(t.Context(), s, name))
	}
	replies, err := s.Transit(t.Context(), benchStart, store.Settlements([]task.Settlement{{Key: tasktest.Key("dead"), Token: "token of dead", Outcome: task.Outcome{Verdict: task.Refusal, Reason: "gone"}}}))
	mustReplies(t, replies, err)
	for _, c := range []task.Change{task.Cancel{Key: tasktest.Key("done")}, task.Run{Key: tasktest.Key("urgent")}} {
		fatal.If(t, apply(t.Context(), s, c))
	}
	return s
}

// broken are the ways in which an invariant can be broken in the database.
var broken = []struct {
	name  string
	spoil func(s *Store, b *pebble.Batch)
	who   string // the task that is repaired; "": none
	says  string
}{
	{"a waiting task has no entry", func(s *Store, b *pebble.Batch) { dropIndex(s, b, "waits") }, "waits", "never have fired"},
	{"a task that was run by hand has no entry", func(s *Store, b *pebble.Batch) { dropIndex(s, b, "urgent") }, "urgent", "never have fired"},
	{"a running task has no entry", func(s *Store, b *pebble.Batch) { dropIndex(s, b, "runs") }, "runs", "among the running"},
	{"a dead task has no entries", func(s *Store, b *pebble.Batch) { dropIndex(s, b, "dead") }, "dead", "not have been listed"},
	{"a finished task has no entries", func(s *Store, b *pebble.Batch) { dropIndex(s, b, "done") }, "done", "not have been listed"},
	{"a dead task is in no list", func(s *Store, b *pebble.Batch) { dropIndex(s, b, "dead", kernel.DeadByEnd) }, "dead", "not have been listed"},
	{"a finished task is in no list", func(s *Store, b *pebble.Batch) { dropIndex(s, b, "done", kernel.DoneByEnd) }, "done", "not have been listed"},
	{"a finished task has no retention", func(s *Store, b *pebble.Batch) { dropIndex(s, b, "done", kernel.ByRetention) }, "done", "never have been swept"},
	{"an Idempotency-Key has no entry", func(s *Store, b *pebble.Batch) {
		_ = b.Delete(appendIdemKey(nil, task.DefaultNamespace, "key of waits"), nil)
	}, "waits", "Idempotency-Key"},
	{"a lease's end is wrong", func(s *Store, b *pebble.Batch) {
		_ = b.Set(appendTaskKey(nil, runPrefix, tasktest.Key("runs")), appendInstant(nil, math.MaxInt64), nil)
	}, "runs", "no valid entry"},
	{"the entry of a dead task is wrong", func(s *Store, b *pebble.Batch) {
		r := record(s, "dead")
		_ = b.Set(appendEntryKey(nil, r, kernel.Entry{Index: kernel.ByRetention, At: r.KeepUntil}), endedEntry{state: task.Dead, queue: "other"}.append(nil), nil)
	}, "dead", "no valid entry"},
	{"an entry at another end", func(s *Store, b *pebble.Batch) {
		r := record(s, "done")
		_ = b.Set(appendEntryKey(nil, r, kernel.Entry{Index: kernel.DoneByEnd, At: r.FinishedAt - 1}), nil, nil)
	}, "done", "does not match its record"},
	{"an entry at another time", func(s *Store, b *pebble.Batch) {
		e := record(s, "waits").Entry()
		_ = b.Set(appendDueKey(nil, e.Lane, task.Position{Due: e.Due - 1000, Name: e.Name}), nil, nil)
	}, "waits", "does not match its record"},
	{"an entry in another lane", func(s *Store, b *pebble.Batch) {
		e := record(s, "urgent").Entry()
		e.Lane.Priority = task.Normal
		_ = b.Set(appendDueKey(nil, e.Lane, e.Position()), nil, nil)
	}, "urgent", "does not match its record"},
	{"an entry of a task that runs", func(s *Store, b *pebble.Batch) {
		e := record(s, "runs").Entry()
		_ = b.Set(appendDueKey(nil, e.Lane, e.Position()), nil, nil)
	}, "runs", "does not match its record"},
	{"a lease of a task that waits", func(s *Store, b *pebble.Batch) {
		_ = b.Set(appendTaskKey(nil, runPrefix, tasktest.Key("waits")), appendInstant(nil, benchStart), nil)
	}, "waits", "does not match its record"},
	{"an entry of no task", func(s *Store, b *pebble.Batch) {
		e := record(s, "waits").Entry()
		e.Name = "nobody"
		_ = b.Set(appendDueKey(nil, e.Lane, e.Position()), nil, nil)
	}, "nobody", "no such task"},
	{"a body of no task", func(s *Store, b *pebble.Batch) {
		_ = b.Set(appendTaskKey(nil, bodyPrefix, tasktest.Key("nobody")), []byte{codec.Format, 'x'}, nil)
	}, "nobody", "no such task"},
	{"a body of a finished task", func(s *Store, b *pebble.Batch) {
		_ = b.Set(appendTaskKey(nil, bodyPrefix, tasktest.Key("done")), []byte{codec.Format, 'x'}, nil)
	}, "done", "does not match its record"},
	{"an Idempotency-Key of no task", func(s *Store, b *pebble.Batch) {
		_ = b.Set(appendIdemKey(nil, task.DefaultNamespace, "lost key"), []byte("nobody"), nil)
	}, "nobody", "no such task"},
	{"an entry that cannot be read", func(s *Store, b *pebble.Batch) {
		_ = b.Set([]byte(donePrefix+"x"), nil, nil)
	}, "", "no such task"},
	{"counts on disk are wrong", func(s *Store, b *pebble.Batch) {
		_ = b.Set(appendCountKey(nil, task.QueueKey{Namespace: task.DefaultNamespace, Queue: task.DefaultQueue}), appendCounts(nil, task.Counts{Bytes: 7}), nil)
	}, "", "the counts of queue"},
	{"counts of a queue that has nothing", func(s *Store, b *pebble.Batch) {
		_ = b.Set(appendCountKey(nil, task.QueueKey{Namespace: task.DefaultNamespace, Queue: "ghost"}), appendCounts(nil, task.Counts{Bytes: 7}), nil)
	}, "", `queue "ghost"`},
	{"unfinished occurrences are counted wrongly", func(s *Store, b *pebble.Batch) {
		n := task.Counts{States: [len(task.Counts{}.States)]int64{task.Scheduled: 7}}
		_ = b.Set(appendCountKey(nil, scheduleKey("nightly").UnfinishedCounter()), appendCounts(nil, n), nil)
	}, "", `the number of unfinished tasks of schedule "nightly" was wrong`},
	{"a schedule has no entry", func(s *Store, b *pebble.Batch) { dropIndex(s, b, "@nightly") }, "@nightly", "never have fired"},
	{"tasks are lost with their entries", func(s *Store, b *pebble.Batch) {
		for id := range int64(3) {
			dropIndex(s, b, newName(100+id))
			_ = b.Delete(appendTaskKey(nil, taskPrefix, tasktest.Key(newName(100+id))), nil)
		}
	}, "", `3 confirmed tasks of queue "default" are lost`},
}

func record(s *Store, name string) *task.Task {
	r, err := getRecord(s.db, tasktest.Key(name))
	if err != nil || r == nil {
		panic(fmt.Sprint(name, r, err))
	}
	return r
}

// dropIndex removes the entries of a task, or those in some indexes.
func dropIndex(s *Store, b *pebble.Batch, name string, in ...kernel.Index) {
	r := record(s, name)
	for _, e := range kernel.EntriesOf(r) {
		if len(in) == 0 || slices.Contains(in, e.Index) {
			_ = b.Delete(appendEntryKey(nil, r, e), nil)
		}
	}
}

func TestAScrubRepairsDamageMadeByHand(t *testing.T) {
	limits := []int{1, 7, 10_000}
	if testing.Short() {
		limits = []int{1, 10_000}
	}
	for _, c := range broken {
		for _, limit := range limits {
			t.Run(fmt.Sprintf("%s, in steps of %d", c.name, limit), func(t *testing.T) {
				s := scrubWorld(t)
				withSchedule(t, s)
				b := s.db.NewBatch()
				c.spoil(s, b)
				fatal.If(t, s.db.Apply(b, pebble.Sync))
				repairs, _ := scrubAll(t, s, benchStart, limit)
				if len(repairs) != 1 || repairs[0].Key.Name != c.who || !strings.Contains(repairs[0].Found, c.says) {
					t.Fatalf("repaired %+v, want one of %q that says %q", repairs, c.who, c.says)
				}
				wantHealthy(t, s)
			})
		}
	}
}

// wantHealthy fails the test if a scrub finds a fault, or if another check
// fails.
func wantHealthy(t *testing.T, s *Store) {
	t.Helper()
	if repairs, _ := scrubAll(t, s, benchStart, 100); len(repairs) > 0 {
		t.Errorf("repaired %+v", repairs)
	}
	storetest.CheckInvariants(t, s, benchStart, task.DefaultNamespace)
	wantExactCounts(t, s)
}

// wantExactCounts compares the counts with the records, in memory and on disk.
func wantExactCounts(t testing.TB, s *Store) {
	t.Helper()
	_, want, err := inspect(t.Context(), s.db, nil)
	fatal.If(t, err)
	got, err := s.Counts(t.Context())
	fatal.If(t, err)
	stored, err := loadCounts(s.db)
	fatal.If(t, err)
	shown := maps.Clone(want)
	maps.DeleteFunc(shown, func(key task.QueueKey, _ task.Counts) bool { return key.OfOccurrences() })
	if w := fmt.Sprint(want); fmt.Sprint(got) != fmt.Sprint(shown) || fmt.Sprint(stored) != w {
		t.Errorf("counts: %v, on disk %v, want %v", got, stored, w)
	}
}

func TestAScrubFindsALaneWithAnUnknownBeginning(t *testing.T) {
	for name, lie := range map[string]lowwater.Finding{
		"the mark is too late": {Conclusive: true, Head: task.Position{Due: benchStart + 1_000_000}},
		"the lane is unknown":  {Conclusive: true, Empty: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := scrubWorld(t)
			e := record(s, "urgent").Entry()
			s.lanes.Begin(e.Lane)
			s.lanes.End(e.Lane, lie)
			called := make(chan task.Entry, 1)
			s.Watch(store.Watcher{Tasks: func(entries []task.Entry) { called <- entries[0] }})
			repairs, _ := scrubAll(t, s, benchStart, 3)
			if len(repairs) != 1 || repairs[0].Key.Name != "urgent" {
				t.Fatalf("repaired %+v", repairs)
			}
			wantHealthy(t, s)
		})
	}
}

func TestAScrubCountsAgainWhileTasksChange(t *testing.T) {
	s := scrubWorld(t)
	queue := task.QueueKey{Namespace: task.DefaultNamespace, Queue: task.DefaultQueue}
	stop := churn(t, s)
	for range 3 {
		if repairs, _ := scrubAll(t, s, benchStart, 20); len(repairs) > 0 {
			t.Errorf("a healthy store: repaired %+v", repairs)
		}
	}
	stop()
	wantHealthy(t, s)

	fatal.If(t, s.db.Set(appendCountKey(nil, queue), appendCounts(nil, task.Counts{}), pebble.Sync))
	again := reopen(func(disk *vfs.MemFS, s *Store) (*vfs.MemFS, error) { return disk, s.Close() })(t, s, benchStart).(*Store)
	stop = churn(t, again)
	repairs, _ := scrubAll(t, again, benchStart, 20)
	stop()
	if len(repairs) != 1 || !strings.Contains(repairs[0].Found, "the counts of queue") {
		t.Errorf("repaired %+v", repairs)
	}
	wantHealthy(t, again)
}

// The edge of the count: a change affects the record that the scrub has
// reached, the one before it, or a new one directly after it.
func TestAScrubCountsExactlyAtEachPosition(t *testing.T) {
	s := scrubWorld(t)
	last := ""
	for cursor := ""; ; {
		done, err := s.Scrub(t.Context(), benchStart, cursor, 1)
		if err != nil || len(done.Repairs) > 0 {
			t.Fatalf("behind %q: %+v, %v", cursor, done.Repairs, err)
		}
		if cursor = done.Next; !strings.HasPrefix(cursor, taskPrefix) {
			break
		}
		name := cursor[len(taskPrefix+task.DefaultNamespace)+1:]
		for _, change := range []task.Change{
			task.Replace{Spec: newSpec(name, benchStart)},
			task.Cancel{Key: tasktest.Key(name)},
			task.Cancel{Key: tasktest.Key(last)},
			task.Create{Spec: newSpec(name+".", benchStart)},
		} {
			if !strings.HasSuffix(name, ".") { // otherwise the test would never end
				_ = apply(t.Context(), s, change)
			}
		}
		last = name
	}
	wantHealthy(t, s)
}

// churn changes tasks until it is stopped: tasks with names before, at and
// after every position of the scrub.
func churn(t *testing.T, s *Store) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for who := range 4 {
		clients.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("%c%d-%d", "0mz~"[i%4], who, i%97)
				spec := newSpec(strings.Replace(name, "~", "zz", 1), benchStart)
				changes := []task.Change{task.Replace{Spec: spec}, task.Run{Key: spec.Key}, task.Replace{Spec: spec}, task.Cancel{Key: spec.Key}}
				if _, err := s.Transit(ctx, benchStart, store.Changes(changes[:1+i%4])); err != nil {
					return
				}
				if i%10 == 9 {
					_, _ = s.Sweep(ctx, benchStart.Add(storetest.Policy.KeepFinished), 5)
				}
				if entries := peekSome(ctx, s, i); len(entries) > 0 {
					_ = claimOne(ctx, s, entries[0].Name)
					_ = settleOne(ctx, s, entries[0].Name)
				}
			}
		})
	}
	return func() { cancel(); clients.Wait() }
}

func peekSome(ctx context.Context, s *Store, i int) []task.Entry {
	heads, err := store.LaneHeads(ctx, s, benchStart)
	if err != nil || len(heads) == 0 {
		return nil
	}
	found, err := s.Peek(ctx, []store.LaneRead{{Lane: heads[i%len(heads)].Lane, Until: benchStart, Limit: 1}})
	if err != nil {
		return nil
	}
	return slices.Concat(found...)
}

// Of two scrubs at a time, only the one that began last counts.
func TestAStepThatAnotherScrubOvertookCountsNothing(t *testing.T) {
	queue := task.QueueKey{Namespace: "a", Queue: "q"}
	step := func() *scrub { return &scrub{counted: kernel.Tally{queue: {Bytes: 7}}, last: true} }
	var y recount
	first, second := step(), step()
	y.begin(first)
	y.begin(second)
	if y.end(first) || !y.end(second) || y.Tally[queue].Bytes != 7 {
		t.Errorf("counted: %v", y.Tally)
	}
}
