package storetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
	"github.com/foliot/foliot/internal/tasktest"
)

// maxWait is how long a case waits for an event from another goroutine. Only a
// broken store reaches it.
const maxWait = 10 * time.Second

// watchCases: hints may be missed. So the cases require that some arrive, that
// none is false, and that the watcher can rely on their contents.
var watchCases = []testCase{
	{
		"hints name waiting tasks",
		"The watcher is called with tasks that were created, moved or given back. Each entry is the one in the lane.",
		func(f *fixture) {
			w := f.watch()
			made := f.create("a", at(start+70))
			w.await(made.Entry())
			moved := f.must(start, task.Patch{Key: tasktest.Key("a"), When: &task.When{At: start + 20}})
			w.await(moved.Entry())
			urgent := f.must(start, task.Run{Key: tasktest.Key("a")})
			w.await(urgent.Entry())
			f.claim(start, urgent, "token")
			w.await(f.settle(start+1, urgent, "token", task.Outcome{Verdict: task.Failure}).Entry())
		},
	},
	{
		"a hint comes after its task is durable",
		"The task of a hint can be read at once: a watcher that peeks must find it, or it would sleep past it.",
		func(f *fixture) {
			hinted := make(chan task.Entry, 100) // room for all hints: a watcher must not block
			stop := f.store.Watch(store.Watcher{Tasks: func(entries []task.Entry) {
				for _, e := range entries {
					hinted <- e
				}
			}})
			for i := range 10 {
				f.create(fmt.Sprintf("t%d", i))
				select {
				case e := <-hinted:
					if t := f.load(e.Key()); t.Entry() != e {
						f.Fatalf("a hint of %+v, the record is at %+v", e, t.Entry())
					}
				case <-time.After(maxWait):
					f.Fatal("no hint of a task created in a quiet store")
				}
			}
			stop()
		},
	},
	{
		"the cancel of a running handler is hinted",
		"The watcher is called at once if the task of a kind was cancelled during an attempt, and hears nothing about one with a URL.",
		func(f *fixture) {
			made, called := f.create("a", at(start), kind("close")), f.create("url", at(start))
			f.claim(start, made, "token")
			f.claim(start, called, "other")
			w := f.watch()
			f.apply(start, task.Cancel{Key: called.Key()})
			f.apply(start, task.Cancel{Key: made.Key()})
			w.await(task.Entry{Name: "a", Lane: made.Lane(), Hint: task.CancelRequested})
			w.mu.Lock()
			defer w.mu.Unlock()
			for e := range w.seen {
				if e.Name == "url" {
					f.Errorf("a hint of %+v", e)
				}
			}
		},
	},
	{
		"tasks that a store begins by itself are hinted",
		"The occurrence of a schedule, the notice of a death, and the schedule that may wait for the end of its occurrence.",
		func(f *fixture) {
			w := f.watch()
			s := f.schedule("nightly", 5*time.Second, overlap(recurrence.BufferOne))
			w.await(s.Entry())
			first := f.fire(start+5000, s).Spawned
			w.await(first.Entry())
			f.claim(start+5000, first, "token")
			w.await(f.trySettle(start+5000, first, "token", task.Outcome{Verdict: task.Refusal, Reason: "gone"}).Spawned.Entry())
			w.await(task.Entry{Name: "@nightly", Lane: task.ScheduleLane(task.DefaultNamespace), Hint: task.OccurrenceEnded})
		},
	},
	{
		"nothing is hinted that does not wait",
		"Cancelled, claimed, finished or refused: no entry, or the watcher would arm timers for nothing.",
		func(f *fixture) {
			f.create("cancelled")
			dead := f.create("dead", at(start))
			f.create("taken")
			w := f.watch()
			f.apply(start, task.Create{Spec: f.spec("taken")})
			f.must(start, task.Cancel{Key: tasktest.Key("cancelled")})
			f.claim(start, dead, "token")
			f.settle(start, dead, "token", task.Outcome{Verdict: task.Refusal, Reason: "gone"})
			last := f.create("last")
			w.await(last.Entry()) // hints come in order: earlier ones would have arrived
			w.mu.Lock()
			defer w.mu.Unlock()
			for e := range w.seen {
				if e.Name != "last" {
					f.Errorf("a hint of %q", e.Name)
				}
			}
		},
	},
	{
		"a watcher can be removed",
		"After stop no watcher is called, and the store works on.",
		func(f *fixture) {
			w := f.watch()
			w.await(f.create("before").Entry())
			w.stop()
			f.create("after")
			second := f.watch()
			second.await(f.create("later").Entry())
			if w.has(tasktest.Key("after")) || w.has(tasktest.Key("later")) || second.has(tasktest.Key("after")) {
				f.Error("a hint of a task that was created while there was no watcher, or another one")
			}
		},
	},
}

// watcher collects hints.
type watcher struct {
	f    *fixture
	stop func()

	mu   sync.Mutex // guards everything below
	seen map[task.Entry]bool
	news chan struct{} // closed, and replaced, with each hint
}

// watch makes a watcher the store's watcher.
func (f *fixture) watch() *watcher {
	w := &watcher{f: f, seen: map[task.Entry]bool{}, news: make(chan struct{})}
	w.stop = f.store.Watch(store.Watcher{Tasks: w.hint})
	return w
}

func (w *watcher) hint(entries []task.Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range entries {
		w.seen[e] = true
	}
	close(w.news)
	w.news = make(chan struct{})
}

// await returns when e was hinted. An idle store must not miss a hint.
func (w *watcher) await(e task.Entry) {
	w.f.Helper()
	tooLong := time.After(maxWait)
	for {
		w.mu.Lock()
		ok, news := w.seen[e], w.news
		w.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-news:
		case <-tooLong:
			w.f.Fatalf("no hint of %+v", e)
		}
	}
}

func (w *watcher) has(k task.Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e := range w.seen {
		if e.Key() == k {
			return true
		}
	}
	return false
}
