package storetest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// endedStates are all states of ended tasks.
var endedStates = []task.State{task.Delivered, task.Cancelled, task.Expired, task.Dead}

// endedCases: a list of ended tasks has the latest ends first, whatever the
// retention of the tasks is and was.
var endedCases = []testCase{
	{
		"ended tasks are listed by their ends",
		"The list equals all ended tasks, sorted by end and name. Retentions differ by queue, and change at any time. Tasks are moved, revived and replaced after their end, and the clock is set back.",
		func(f *fixture) {
			r := rand.New(rand.NewPCG(7, 11))
			f.spec("any", namespace("other"))
			queues := []string{"default", "short", "long"}
			now := start
			for i := range 300 {
				now += task.Millis(r.IntN(1500) - 300)
				switch r.IntN(12) {
				case 0:
					f.keep(now, queues[r.IntN(3)], time.Duration(r.IntN(4))*20*time.Second, time.Duration(r.IntN(4))*2*time.Minute)
				case 1:
					f.drop(now, queues[r.IntN(3)])
				case 2:
					f.moveDead(now, r, queues[r.IntN(3)])
				case 3:
					f.must(now, task.Replace{Spec: f.spec(fmt.Sprintf("t%03d", r.IntN(i+1)), at(now))})
				case 4:
					if _, err := f.store.Sweep(f.Context(), now, 1000); err != nil {
						f.Fatal(err)
					}
				default:
					f.end(now, r, fmt.Sprintf("t%03d", r.IntN(i+1)), queues[r.IntN(3)])
				}
				if i%10 == 0 {
					filter := task.Filter{Namespace: task.DefaultNamespace, States: endedStates}
					switch r.IntN(5) {
					case 0:
						filter.States = []task.State{task.Dead}
					case 1:
						filter.Queue = queues[r.IntN(3)]
					case 2:
						filter.Labels = map[string]string{"third": "1"}
					case 3:
						filter.EndedAfter = now - task.Millis(r.IntN(60_000))
					}
					f.checkEnded(now, filter, 1+r.IntN(12))
				}
			}
			f.hasExactEntries()
			if _, err := drainCount(func() (int, error) { return f.store.Sweep(f.Context(), now.Add(time.Hour), 100) }); err != nil {
				f.Fatal(err)
			}
			f.hasExactEntries()
		},
	},
	{
		"more tasks than a page examines",
		"A page examines a bounded number of records of its namespace. Those of other namespaces do not count.",
		func(f *fixture) {
			rare := labels(map[string]string{"rare": ""})
			f.create("old", rare)
			f.must(start, task.Cancel{Key: tasktest.Key("old")})
			f.must(start, task.Create{Spec: f.spec("alone", namespace("other"))})
			f.must(start, task.Cancel{Key: task.Key{Namespace: "other", Name: "alone"}})
			f.endMany(start+10_000, task.MaxPageExamined+500)
			f.create("zz", rare)
			now, filter := start+30_000, task.Filter{Namespace: task.DefaultNamespace, States: endedStates}
			latest, err := f.store.List(f.Context(), filter, task.Page{ByEnd: now, Limit: 1})
			if err != nil || len(latest.Tasks) != 1 || latest.Tasks[0].Name != "t010000" || latest.Next == "" {
				f.Fatalf("the latest: %q, next %q, error %v", names(latest.Tasks), latest.Next, err)
			}
			other, err := f.store.List(f.Context(), task.Filter{Namespace: "other", States: endedStates}, task.Page{ByEnd: now, Limit: 2})
			if err != nil || len(other.Tasks) != 1 || other.Next != "" {
				f.Fatalf("the other namespace: %q, next %q, error %v", names(other.Tasks), other.Next, err)
			}
			filter.Labels = map[string]string{"rare": ""}
			latest, err = f.store.List(f.Context(), filter, task.Page{ByEnd: now, Limit: 10})
			if err != nil || len(latest.Tasks) != 0 || latest.Next == "" {
				f.Fatalf("the first page of a rare label: %q, next %q, error %v", names(latest.Tasks), latest.Next, err)
			}
			f.checkEnded(now, filter, 10)
			f.pagesOfMany()
		},
	},
}

// hasExactEntries: the list by ends has all ended tasks, and a scrub finds no entry
// of a task that is missing or that no record has.
func (f *fixture) hasExactEntries() {
	f.Helper()
	f.checkEnded(math.MinInt64, task.Filter{Namespace: task.DefaultNamespace, States: endedStates}, 10)
	if found := f.scrub(start, 100); len(found) > 0 {
		f.Errorf("a scrub found %+v", found)
	}
}

// pagesOfMany: a filter that matches nothing costs at most MaxPageExamined
// records a call: the page is short or empty, with a Next.
func (f *fixture) pagesOfMany() {
	rare := task.Filter{Namespace: task.DefaultNamespace, Labels: map[string]string{"rare": ""}}
	l, err := f.store.List(f.Context(), rare, task.Page{Limit: 10, After: "old"})
	if err != nil || len(l.Tasks) != 0 || l.Next == "" || l.Next > fmt.Sprintf("t%06d", task.MaxPageExamined-1) {
		f.Fatalf("first page: %d tasks, next %q, error %v", len(l.Tasks), l.Next, err)
	}
	f.wantNames("all pages", names(f.list(rare, task.Page{Limit: 10})), "old", "zz")
}

// endMany cancels n tasks, a batch of them each second from first on.
func (f *fixture) endMany(first task.Millis, n int) {
	f.Helper()
	for i := 0; i < n; i += task.MaxBatch {
		var creates, cancels []task.Change
		for k := i; k < min(n, i+task.MaxBatch); k++ {
			name := fmt.Sprintf("t%06d", k)
			creates = append(creates, task.Create{Spec: f.spec(name, tasktest.Bodiless)})
			cancels = append(cancels, task.Cancel{Key: tasktest.Key(name)})
		}
		f.batch(first, creates...)
		f.batch(first+task.Millis(1+i), cancels...)
	}
}

// keep sets the retention of a queue.
func (f *fixture) keep(now task.Millis, queue string, finished, dead time.Duration) {
	f.Helper()
	f.editAt(now, settings.PutQueue{Queue: settings.QueueSettings{Namespace: task.DefaultNamespace, Name: queue, KeepFinished: finished, KeepDead: dead}})
}

// drop removes the settings of a queue that has some.
func (f *fixture) drop(now task.Millis, queue string) {
	f.Helper()
	if f.store.Standing().Settings.Queue(task.DefaultNamespace, queue).Version != 0 {
		f.editAt(now, settings.DropQueue{Namespace: task.DefaultNamespace, Name: queue})
	}
}

func (f *fixture) editAt(now task.Millis, e settings.Edit) {
	f.Helper()
	replies, err := f.store.Configure(f.Context(), now, []settings.Edit{e})
	if err != nil || replies[0].Err != nil {
		f.Fatalf("%T: %v, %v", e, err, replies)
	}
}

// end makes or replaces a task that ends now.
func (f *fixture) end(now task.Millis, r *rand.Rand, name, inQueue string) {
	f.Helper()
	label := labels(map[string]string{"third": fmt.Sprint(r.IntN(3))})
	if r.IntN(5) == 0 {
		f.must(now, task.Replace{Spec: f.spec(name, namespace("other"), at(now))})
		f.must(now, task.Cancel{Key: task.Key{Namespace: "other", Name: name}})
		return
	}
	t := f.must(now, task.Replace{Spec: f.spec(name, queue(inQueue), at(now), label)})
	switch r.IntN(3) {
	case 0:
		f.must(now, task.Cancel{Key: t.Key()})
	case 1:
		f.claim(now, t, "token")
		f.settle(now, t, "token", task.Outcome{Verdict: task.Success})
	default:
		f.claim(now, t, "token")
		f.settle(now, t, "token", task.Outcome{Verdict: task.Refusal, Reason: "gone"})
	}
}

// moveDead moves a dead task to another queue. It keeps its retention.
func (f *fixture) moveDead(now task.Millis, r *rand.Rand, to string) {
	f.Helper()
	dead := f.list(task.Filter{Namespace: task.DefaultNamespace, States: []task.State{task.Dead}}, task.Page{Limit: 1000})
	if len(dead) > 0 {
		f.must(now, task.Patch{Key: dead[r.IntN(len(dead))].Key(), Queue: &to})
	}
}

// checkEnded compares the pages of a list by ends with the records.
func (f *fixture) checkEnded(now task.Millis, filter task.Filter, limit int) {
	f.Helper()
	records := f.list(task.Filter{Namespace: filter.Namespace}, task.Page{Limit: 1000})
	if err := compareEnded(f.Context(), f.store, now, filter, limit, records); err != nil {
		f.Fatalf("%+v in pages of %d: %v", filter, limit, err)
	}
}

// compareEnded compares the pages of a list by ends with the records of its
// namespace, sorted.
func compareEnded(ctx context.Context, s store.Store, now task.Millis, filter task.Filter, limit int, records []*task.Task) error {
	want := slices.DeleteFunc(slices.Clone(records), func(t *task.Task) bool { return t.KeepUntil <= now || !filter.Match(t) })
	slices.SortFunc(want, func(a, b *task.Task) int {
		return cmp.Or(cmp.Compare(b.FinishedAt, a.FinishedAt), cmp.Compare(a.Name, b.Name))
	})
	var got []*task.Task
	for page := filter.NarrowEnded(now, task.Page{Limit: limit}); ; {
		l, err := s.List(ctx, filter, page)
		if err != nil {
			return err
		}
		got = append(got, l.Tasks...)
		switch {
		case len(l.Tasks) > limit, l.Next != "" && l.Next <= page.After:
			return fmt.Errorf("a page of %d tasks with the cursor %q after %q", len(l.Tasks), l.Next, page.After)
		case l.Next == "":
			return differ("ended tasks", names(want), names(got))
		}
		page.After = l.Next
	}
}
