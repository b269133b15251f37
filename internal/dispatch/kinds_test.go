package dispatch

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// kind makes the task one of a kind.
func kind(name string) edit {
	return func(s *task.Spec) {
		s.Request = task.Request{Kind: name, BodyKind: task.JSONBody, Body: []byte("{}"), BodySize: 2}
	}
}

func timeout(d time.Duration) edit { return func(s *task.Spec) { s.Timeout = d } }

// worker is a Config of a process with handlers alone.
func worker(kinds ...string) Config {
	c := Config{Slots: -1, Handlers: 4, Kinds: map[string]int{}, Holder: "worker-1", Grace: -1}
	for _, k := range kinds {
		c.Kinds[k] = 0
	}
	return c
}

// untilCancelled is a handler that runs until its context ends, and then fails.
func untilCancelled(causes chan<- error) receiver {
	return func(ctx context.Context, _ task.Delivery) task.Outcome {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return task.Outcome{Verdict: task.Failure, Error: "stopped", StartedAt: millis()}
	}
}

func TestACancelEndsTheContextOfAHandlerAtOnce(t *testing.T) {
	causes := make(chan error, 1)
	inBubble(t, worker("close"), nil, untilCancelled(causes), func(b *bed) {
		b.create("a", 0, kind("close"))
		b.pass(time.Second)
		if l := b.get("a").Lease; l == nil || l.Holder != "worker-1" {
			t.Fatalf("the lease: %+v", l)
		}
		b.apply(task.Cancel{Key: key("a")})
		b.pass(0)
		if cause := <-causes; !errors.Is(cause, ErrCancelled) {
			t.Errorf("the cause is %v", cause)
		}
		b.pass(time.Hour)
		b.wantState("a", task.Cancelled)
		b.wantCalls(1)
	})
}

// crossed is a store that also passes on the notices of other stores.
type crossed struct {
	store.DispatchStore
	foreign func(task.Entry) // passes on a notice; set by Watch
}

func (q *crossed) Watch(w store.Watcher) (stop func()) {
	q.foreign = func(e task.Entry) { w.Tasks([]task.Entry{e}) }
	return q.DispatchStore.Watch(w)
}

func TestANoticeOfACancelEndsNoHandlerWhoseTaskWasNotCancelled(t *testing.T) {
	causes := make(chan error, 1)
	q := &crossed{}
	wrap := func(s store.DispatchStore) store.DispatchStore { q.DispatchStore = s; return q }
	inBubble(t, worker("close"), wrap, untilCancelled(causes), func(b *bed) {
		b.create("a", 0, kind("close"), timeout(time.Hour))
		b.pass(time.Second)
		running := b.get("a")
		for range 3 {
			q.foreign(task.Entry{Name: "a", Lane: running.Lane(), Hint: task.CancelRequested})
			b.pass(time.Second)
		}
		select {
		case cause := <-causes:
			t.Errorf("the handler has ended: %v", cause)
		default:
		}
		if before, after := running.Lease.Until, b.get("a").Lease.Until; after <= before {
			t.Errorf("the end of the lease was %v and is %v: no notice caused an extension", before, after)
		}
		b.apply(task.Cancel{Key: key("a")})
		b.pass(0)
		if cause := <-causes; !errors.Is(cause, ErrCancelled) {
			t.Errorf("the cause is %v", cause)
		}
		b.pass(time.Second)
		b.wantState("a", task.Cancelled)
	})
}

// deaf is a store that loses all notices.
type deaf struct{ store.DispatchStore }

func (q deaf) Watch(w store.Watcher) (stop func()) {
	return q.DispatchStore.Watch(store.Watcher{Tasks: func(entries []task.Entry) {
		for _, e := range entries {
			if e.Hint != task.CancelRequested {
				w.Tasks([]task.Entry{e})
			}
		}
	}})
}

func TestALostNoticeOfACancelIsFoundByTheNextExtension(t *testing.T) {
	causes := make(chan error, 1)
	inBubble(t, worker("close"), func(s store.DispatchStore) store.DispatchStore { return deaf{s} }, untilCancelled(causes), func(b *bed) {
		b.create("a", 0, kind("close"), timeout(time.Hour))
		b.pass(time.Second)
		b.apply(task.Cancel{Key: key("a")})
		b.pass(15 * time.Second / 2) // a third of the lease, and one tick of the renewer
		select {
		case cause := <-causes:
			if !errors.Is(cause, ErrCancelled) {
				t.Errorf("the cause is %v", cause)
			}
		default:
			t.Error("the handler still runs")
		}
	})
}

func TestACancelDoesNotStopARequest(t *testing.T) {
	var release chan struct{} // of the bubble
	inBubble(t, Config{}, nil, func(ctx context.Context, d task.Delivery) task.Outcome {
		select {
		case <-release:
			return task.Outcome{Verdict: task.Success, Status: 200, StartedAt: millis()}
		case <-ctx.Done():
			return task.Outcome{Verdict: task.Interrupted, StartedAt: millis()}
		}
	}, func(b *bed) {
		release = make(chan struct{})
		b.create("a", 0, timeout(time.Hour))
		b.pass(time.Second)
		b.apply(task.Cancel{Key: key("a")})
		b.pass(time.Minute) // its lease was extended several times
		close(release)
		b.pass(time.Second)
		b.wantState("a", task.Delivered)
	})
}

func TestAHandlerThatHangsKeepsItsLeaseAndIsReportedOnce(t *testing.T) {
	var release chan struct{} // of the bubble
	var reports atomic.Int32
	c := worker("close")
	c.Hangs = func(stuck *task.Task, running time.Duration) {
		reports.Add(1)
		if stuck.Name != "a" || running < time.Minute || running > time.Minute+5*time.Second {
			t.Errorf("%s is reported after %v", stuck.Name, running)
		}
	}
	inBubble(t, c, nil, func(context.Context, task.Delivery) task.Outcome {
		<-release // it ignores its context
		return task.Outcome{Verdict: task.Success, StartedAt: millis()}
	}, func(b *bed) {
		release = make(chan struct{})
		b.create("a", 0, kind("close"), timeout(time.Minute))
		b.pass(time.Hour)
		if n := reports.Load(); n != 1 {
			t.Errorf("%d reports", n)
		}
		if left := b.get("a").Lease.Until.Sub(millis()); left < 5*time.Second {
			t.Errorf("the lease ends in %v", left)
		}
		b.wantCalls(1)
		close(release)
		b.pass(time.Second)
		b.wantState("a", task.Delivered)
	})
}

func TestRunReturnsAlthoughAHandlerIgnoresItsContext(t *testing.T) {
	var release chan struct{} // of the bubble
	inBubble(t, worker("close"), nil, func(_ context.Context, d task.Delivery) task.Outcome {
		if d.Task.Name == "stuck" {
			<-release
		}
		return task.Outcome{Verdict: task.Success, StartedAt: millis()}
	}, func(b *bed) {
		release = make(chan struct{})
		b.create("stuck", 0, kind("close"))
		b.create("good", 0, kind("close"))
		b.pass(time.Second)
		err := b.end()
		if err == nil || !strings.Contains(err.Error(), "1 handlers still run") {
			t.Errorf("Run: %v", err)
		}
		close(release) // its outcome comes too late, and no one may be hurt
		b.pass(time.Second)
		b.wantState("good", task.Delivered)
		b.wantState("stuck", task.Running)
		b.ended = make(chan error, 1)
		b.ended <- nil
	})
}

func TestAHandlerThatSnoozesDelaysItsTaskAlone(t *testing.T) {
	inBubble(t, worker("close"), nil, func(_ context.Context, d task.Delivery) task.Outcome {
		if d.Task.Name == "later" && d.Number == 1 {
			return task.Outcome{Verdict: task.Snooze, Exact: true, RetryAfter: 3 * time.Hour, StartedAt: millis()}
		}
		return task.Outcome{Verdict: task.Success, StartedAt: millis()}
	}, func(b *bed) {
		b.create("later", 0, kind("close"))
		b.pass(time.Second)
		b.create("now", 0, kind("close"))
		b.pass(time.Second)
		b.wantState("now", task.Delivered)
		b.pass(3 * time.Hour)
		b.wantState("later", task.Delivered)
		b.wantLate(5 * time.Millisecond)
		if got := b.get("later"); got.AttemptsUsed != 0 || got.Attempts != 2 {
			t.Errorf("%d attempts used of %d", got.AttemptsUsed, got.Attempts)
		}
	})
}
