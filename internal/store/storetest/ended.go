package storetest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// endedStates are all states of ended tasks.
var endedStates = []task.State{task.Delivered, task.Cancelled, task.Expired, task.Dead}

// endedCases: a list of ended tasks has the latest ends first, whatever the
// retention of the tasks is and was.
var endedCases = []testCase{
	{
		"ended tasks are listed by their ends",
		"The list equals all ended tasks, sorted by end and name, and cut. Retentions differ by queue, and change at any time.",
		func(f *fixture) {
			r := rand.New(rand.NewPCG(7, 11))
			f.spec("any", namespace("other"))
			queues := []string{"default", "short", "long"}
			now := start
			for i := range 300 {
				now += task.Millis(r.IntN(1500))
				switch r.IntN(12) {
				case 0:
					f.keep(now, queues[r.IntN(3)], time.Duration(r.IntN(4))*20*time.Second, time.Duration(r.IntN(4))*2*time.Minute)
				case 1:
					f.drop(now, queues[r.IntN(3)])
				case 2:
					f.moveDead(now, r, queues[r.IntN(3)])
				case 3:
					if _, err := f.store.Sweep(f.Context(), now, 1000); err != nil {
						f.Fatal(err)
					}
				default:
					f.end(now, r, fmt.Sprintf("t%03d", i), queues[r.IntN(3)])
				}
				if i%10 == 0 {
					filter := task.Filter{Namespace: task.DefaultNamespace, States: endedStates}
					switch r.IntN(4) {
					case 0:
						filter.States = []task.State{task.Dead}
					case 1:
						filter.Queue = queues[r.IntN(3)]
					case 2:
						filter.Labels = map[string]string{"third": "1"}
					}
					f.checkEnded(now, f.allEnded(), filter, 1+r.IntN(12))
				}
			}
		},
	},
	{
		"ended tasks are listed by their ends after the clock was set back",
		"A task with a short retention that ended after the present time comes before tasks that ended earlier.",
		func(f *fixture) {
			f.spec("any", namespace("other"))
			f.keep(start, "long", 100*time.Hour, 100*time.Hour)
			f.keep(start, "short", time.Hour, time.Hour)
			r := rand.New(rand.NewPCG(17, 19))
			for i, minute := range []int{10, 11, 30, 29} { // then the clock is set back to 12
				f.end(start.Add(time.Duration(minute)*time.Minute), r, fmt.Sprintf("s%d", i), "short")
				f.end(start.Add(time.Duration(minute)*time.Minute), r, fmt.Sprintf("l%d", i), "long")
			}
			all := f.allEnded()
			for _, now := range []time.Duration{31 * time.Minute, 12 * time.Minute, 20 * time.Minute} {
				for limit := 1; limit <= 8; limit++ {
					f.checkEnded(start.Add(now), all, task.Filter{Namespace: task.DefaultNamespace, States: endedStates}, limit)
				}
			}
		},
	},
	{
		"more tasks than a page examines",
		"A queue keeps more tasks than a page or a search examines, for a year. All ended earlier or later than tasks of queues with shorter retentions.",
		func(f *fixture) {
			f.spec("any", namespace("other"))
			f.keep(start, "long", 365*24*time.Hour, 0)
			f.keep(start, "short", time.Minute, time.Hour)
			f.keep(start, "shorter", time.Hour, 0)
			f.keep(start, "shorter", 20*time.Second, 0)
			r, queues := rand.New(rand.NewPCG(3, 5)), []string{"short", "shorter", "default"}
			rare := labels(map[string]string{"rare": ""})
			f.create("old", queue("long"), rare)
			f.must(start, task.Cancel{Key: key("old")})
			for i := range 20 {
				f.end(start+task.Millis(500*i), r, fmt.Sprintf("a%02d", i), queues[i%3])
			}
			f.endMany(start+10_000, task.MaxPageExamined+500, queue("long"))
			now := start + 30_000
			f.part("a search for ended tasks examines a bounded number of records", func(f *fixture) { f.searchesManyEnded(now) })
			for i := range 20 {
				f.end(now, r, fmt.Sprintf("z%02d", i), queues[i%3])
				now += 100
			}
			f.create("zz", rare)
			f.part("a page examines a bounded number of records", (*fixture).pagesOfMany)
			f.part("tasks with a long retention hide no others", func(f *fixture) { f.findsShortRetentions(now) })
		},
	},
}

// searchesManyEnded: if many records end after those that match, the list says
// since when it is complete.
func (f *fixture) searchesManyEnded(now task.Millis) {
	rare := task.Filter{Namespace: task.DefaultNamespace, Labels: map[string]string{"rare": ""}, States: endedStates}
	got, err := f.store.ListEnded(f.Context(), now, rare, 10)
	if err != nil || len(got.Tasks) == 0 && got.Since < start {
		f.Fatalf("%d tasks, since start+%d, error %v: the old task is missing", len(got.Tasks), got.Since-start, err)
	}
	got, err = f.store.ListEnded(f.Context(), now, task.Filter{Namespace: task.DefaultNamespace, States: endedStates}, 1)
	if err != nil || len(got.Tasks) != 1 || got.Tasks[0].Name != "t010000" || !got.More || got.Since != 0 {
		f.Fatalf("the latest: %q, since %d, error %v", names(got.Tasks), got.Since, err)
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

// findsShortRetentions looks while retentions of 20 seconds and of a minute end.
func (f *fixture) findsShortRetentions(now task.Millis) {
	latest, err := f.store.ListEnded(f.Context(), now, task.Filter{Namespace: task.DefaultNamespace, States: endedStates, Queue: "short"}, 3)
	if err != nil || len(latest.Tasks) != 3 || latest.Since >= latest.Tasks[2].FinishedAt {
		f.Fatalf("the latest of queue short: %q, complete since start+%d, error %v", names(latest.Tasks), latest.Since-start, err)
	}
	all := f.allEnded()
	for second, limit := range map[task.Millis]int{0: 1, 10: 12, 19: 4, 29: 9} {
		for _, queue := range []string{"", "default", "short", "shorter", "long"} {
			f.checkEnded(now+1000*second, all, task.Filter{Namespace: task.DefaultNamespace, States: endedStates, Queue: queue}, limit)
		}
	}
}

// endMany cancels n tasks, a batch of them each second from first on.
func (f *fixture) endMany(first task.Millis, n int, options ...func(*task.Spec)) {
	f.Helper()
	options = append(options, noBody)
	for i := 0; i < n; i += task.MaxBatch {
		var creates, cancels []task.Change
		for k := i; k < min(n, i+task.MaxBatch); k++ {
			name := fmt.Sprintf("t%06d", k)
			creates = append(creates, task.Create{Spec: f.spec(name, options...)})
			cancels = append(cancels, task.Cancel{Key: key(name)})
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
	if f.store.Settings().Queue(task.DefaultNamespace, queue).Version != 0 {
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

// end makes a task that ends now.
func (f *fixture) end(now task.Millis, r *rand.Rand, name, inQueue string) {
	f.Helper()
	label := labels(map[string]string{"third": fmt.Sprint(r.IntN(3))})
	if r.IntN(5) == 0 {
		f.must(now, task.Create{Spec: f.spec(name, namespace("other"), at(now))})
		f.must(now, task.Cancel{Key: task.Key{Namespace: "other", Name: name}})
		return
	}
	t := f.must(now, task.Create{Spec: f.spec(name, queue(inQueue), at(now), label)})
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
	dead := slices.DeleteFunc(f.allEnded(), func(t *task.Task) bool { return t.State != task.Dead || t.KeepUntil <= now })
	if len(dead) > 0 {
		f.must(now, task.Patch{Key: dead[r.IntN(len(dead))].Key(), Queue: &to})
	}
}

// allEnded returns all ended tasks of a namespace.
func (f *fixture) allEnded() []*task.Task {
	f.Helper()
	return f.list(task.Filter{Namespace: task.DefaultNamespace, States: endedStates}, task.Page{Limit: 1000})
}

// checkEnded compares a search with all ended tasks, sorted.
func (f *fixture) checkEnded(now task.Millis, ended []*task.Task, filter task.Filter, limit int) {
	f.Helper()
	all := slices.DeleteFunc(slices.Clone(ended), func(t *task.Task) bool { return t.KeepUntil <= now || !filter.Match(t) })
	slices.SortFunc(all, func(a, b *task.Task) int {
		return cmp.Or(cmp.Compare(b.FinishedAt, a.FinishedAt), cmp.Compare(a.Name, b.Name))
	})
	got, err := f.store.ListEnded(f.Context(), now, filter, limit)
	if err != nil {
		f.Fatal(err)
	}
	want := all[:min(limit, len(all))]
	if len(ended) > task.MaxPageExamined && filter.Queue != "" { // the tasks of other queues can use up the search
		unsure := func(t *task.Task) bool { return t.FinishedAt <= got.Since }
		want, got.Tasks = slices.DeleteFunc(slices.Clone(want), unsure), slices.DeleteFunc(got.Tasks, unsure)
	} else if got.Since != 0 {
		f.Fatalf("queue %q: complete only since start+%d, of %d tasks", filter.Queue, got.Since-start, len(all))
	}
	f.wantNames(fmt.Sprintf("the latest %d of queue %q", limit, filter.Queue), names(got.Tasks), names(want)...)
	if len(all) > len(want) && !got.More {
		f.Fatalf("queue %q: no more, of %d tasks", filter.Queue, len(all))
	}
}
