package dispatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

var errBroken = errors.New("the medium has hiccups")

// faults wraps a queue and fails calls. The zero faults fails none.
type faults struct {
	store.DispatchStore

	mu    sync.Mutex // guards the fields below
	calls map[string]int
	fail  func(op string, n int) (before, after error) // of the n-th call of an operation, from 1
	slow  task.Millis                                  // by how much the store's clock is behind ours
	deaf  bool                                         // no hints
}

func (f *faults) over(q store.DispatchStore) store.DispatchStore { f.DispatchStore = q; return f }

// verdict returns the errors of a call, before or after it is applied.
func (f *faults) verdict(op string) (before, after error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = map[string]int{}
	}
	f.calls[op]++
	if f.fail == nil {
		return nil, nil
	}
	return f.fail(op, f.calls[op])
}

// around applies a call, or fails it as f decides.
func around[T any](f *faults, op string, do func() (T, error)) (T, error) {
	var zero T
	before, after := f.verdict(op)
	if before != nil {
		return zero, before
	}
	v, err := do()
	if after != nil {
		return zero, after
	}
	return v, err
}

func (f *faults) LanePages(ctx context.Context, until task.Millis, reads []store.LanePageRead) ([]store.LanePage, error) {
	op := "lanes"
	if reads[0].Namespace == "" {
		op = "namespaces"
	}
	return around(f, op, func() ([]store.LanePage, error) { return f.DispatchStore.LanePages(ctx, until, reads) })
}

func (f *faults) Peek(ctx context.Context, reads []store.LaneRead) ([][]task.Entry, error) {
	return around(f, "peek", func() ([][]task.Entry, error) { return f.DispatchStore.Peek(ctx, reads) })
}

func (f *faults) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	op := opOf(steps)
	if op == "claim" {
		now -= f.slow
	}
	return around(f, op, func() ([]store.Reply, error) { return f.DispatchStore.Transit(ctx, now, steps) })
}

// opOf returns the word for a call of Transit.
func opOf(steps []store.Step) string {
	switch steps[0].Kind {
	case store.Claim:
		return "claim"
	case store.Extension:
		return "extend"
	case store.Settlement:
		return "settle"
	case store.Fire:
		return "fire"
	}
	return "other"
}

func (f *faults) Watch(w store.Watcher) (stop func()) {
	if f.deaf {
		return func() {}
	}
	return f.DispatchStore.Watch(w)
}

func TestWithoutHintsNoTaskIsLaterThanAPoll(t *testing.T) {
	f := &faults{deaf: true}
	c := Config{Poll: 250 * time.Millisecond}
	inBubble(t, c, f.over, accept, func(b *bed) {
		const n = 400
		for i := range n { // due over the next seconds, before and after the known tasks
			b.create(fmt.Sprint("t", i), time.Duration(i*7919%3000)*time.Millisecond, to(fmt.Sprint("host", i%3)))
			b.pass(5 * time.Millisecond)
		}
		b.pass(5 * time.Second)
		b.wantCalls(n)
		b.wantLate(c.Poll + 10*time.Millisecond)
	})
}

// unreadable refuses claims of the task "bad" with an error that no healthy
// task can get.
type unreadable struct{ store.DispatchStore }

func (u *unreadable) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	i := slices.IndexFunc(steps, isBad)
	replies, err := u.DispatchStore.Transit(ctx, now, slices.DeleteFunc(slices.Clone(steps), isBad))
	if i >= 0 && err == nil {
		replies = slices.Insert(replies, i, store.Reply{Err: errBroken})
	}
	return replies, err
}

func isBad(st store.Step) bool { return st.Kind == store.Claim && st.Key.Name == "bad" }

func TestATaskThatCannotBeClaimedIsLoggedAndDelaysNoOther(t *testing.T) {
	var log bytes.Buffer
	c := Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	over := func(q store.DispatchStore) store.DispatchStore { return &unreadable{q} }
	inBubble(t, c, over, accept, func(b *bed) {
		b.create("bad", 0)
		for i := range 5 {
			b.create(fmt.Sprint("a", i), 0)
			b.pass(time.Second)
		}
		b.wantCalls(5)
		b.wantLate(tick)
		if n := strings.Count(log.String(), "task=bad"); n != 1 || !strings.Contains(log.String(), errBroken.Error()) {
			t.Errorf("it was logged %d times:\n%s", n, log.String())
		}
	})
}

// unsettled refuses settlements with an error other than that of a lost lease.
type unsettled struct{ store.DispatchStore }

func (u *unsettled) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	if steps[0].Kind == store.Settlement {
		return slices.Repeat([]store.Reply{{Err: errBroken}}, len(steps)), nil
	}
	return u.DispatchStore.Transit(ctx, now, steps)
}

// TestATaskThatCannotBeSettledIsLogged: the log must not say that its
// lease was lost.
func TestATaskThatCannotBeSettledIsLogged(t *testing.T) {
	var log bytes.Buffer
	c := Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	over := func(q store.DispatchStore) store.DispatchStore { return &unsettled{q} }
	inBubble(t, c, over, accept, func(b *bed) {
		b.create("bad", 0)
		b.pass(time.Second)
		b.wantCalls(1)
		if got := log.String(); !strings.Contains(got, "task=bad") || !strings.Contains(got, errBroken.Error()) || strings.Contains(got, "lease") {
			t.Errorf("logged is %s", got)
		}
	})
}

func TestARetryIsStartedWithoutAHint(t *testing.T) {
	f := &faults{deaf: true}
	fail := func(context.Context, task.Delivery) task.Outcome {
		return task.Outcome{Verdict: task.Failure, Status: 500, StartedAt: millis()}
	}
	inBubble(t, Config{BreakerFailures: -1}, f.over, fail, func(b *bed) {
		b.create("t", 6*time.Second, retry(task.Retry{MinBackoff: 100 * time.Millisecond, MaxBackoff: time.Second}))
		b.pass(20 * time.Second)
		if n := len(b.seen()); n < 10 {
			t.Errorf("%d attempts", n)
		}
		b.wantLate(tick)
	})
}

func TestAMoveWithoutAHintIsFound(t *testing.T) {
	f := &faults{deaf: true}
	inBubble(t, Config{}, f.over, accept, func(b *bed) {
		b.create("sooner", 4*time.Second)
		b.create("later", time.Second)
		b.pass(500 * time.Millisecond)
		b.apply(
			task.Patch{Key: key("sooner"), When: &task.When{Relative: true, Delay: 500 * time.Millisecond}},
			task.Patch{Key: key("later"), When: &task.When{Relative: true, Delay: 2 * time.Second}},
		)
		b.pass(10 * time.Second)
		b.wantCalls(2)
		b.wantLate(260 * time.Millisecond)
		if s := b.Stats(); s.Moved != 1 {
			t.Errorf("stats: %+v", s)
		}
	})
}

func TestAClaimThatIsTooEarlyForTheStoreIsRepeated(t *testing.T) {
	f := &faults{slow: 3}
	inBubble(t, Config{}, f.over, accept, func(b *bed) {
		for i := range 50 {
			b.create(fmt.Sprint("t", i), time.Duration(i)*100*time.Millisecond)
		}
		b.pass(10 * time.Second)
		b.wantCalls(50)
		b.wantLate(260 * time.Millisecond)
	})
}

// A call that fails may have been applied before. Either way each task is
// sent once, and its outcome is settled.
func TestAFailedCallIsRepeatedAndNothingIsSentTwice(t *testing.T) {
	for _, op := range []string{"claim", "settle", "namespaces", "lanes", "peek"} {
		for _, carriedOut := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, carried out %v", op, carriedOut), func(t *testing.T) {
				f := &faults{fail: func(called string, n int) (before, after error) {
					switch {
					case called != op || n%3 == 0:
						return nil, nil
					case carriedOut:
						return nil, errBroken
					}
					return errBroken, nil
				}}
				inBubble(t, Config{}, f.over, accept, func(b *bed) {
					for i := range 20 {
						b.create(fmt.Sprint("t", i), time.Duration(i)*time.Second)
					}
					b.pass(40 * time.Second)
					b.wantCalls(20)
					for i := range 20 {
						b.wantState(fmt.Sprint("t", i), task.Delivered)
					}
				})
			})
		}
	}
}

func TestAClosedStoreEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Config{}, nil, hang)
		b.start()
		b.create("t", 0)
		b.pass(time.Second)
		b.wantCalls(1)
		b.store.Close()
		began := time.Now()
		if err := <-b.ended; !errors.Is(err, task.ErrClosed) {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("Run went on for %v", took)
		}
	})
}

// The reply to a claim is lost, and the task is replaced before the claim is
// repeated. The lease is ours and must not stay behind.
func TestATaskReplacedDuringAnUncertainClaimIsDelivered(t *testing.T) {
	f := &faults{fail: func(op string, n int) (before, after error) {
		if op == "claim" && n == 1 {
			return nil, errBroken
		}
		return nil, nil
	}}
	inBubble(t, Config{}, f.over, accept, func(b *bed) {
		b.create("t", time.Second)
		b.pass(time.Second + firstWait/2)
		next := spec(t, "t", 0)
		next.ID = "another"
		b.apply(task.Replace{Spec: next})
		b.pass(30 * time.Second)
		b.wantState("t", task.Delivered)
		b.wantCalls(1)
	})
}

// partly is a queue with a shard that can be unavailable: that of the tasks
// with names that begin with "away". A call for such a task waits as for a
// server and fails, but may be applied all the same.
type partly struct {
	store.DispatchStore
	away, does atomic.Bool
}

func (p *partly) over(q store.DispatchStore) store.DispatchStore { p.DispatchStore = q; return p }

// of applies the calls for the available shard, and returns a reply for
// each item.
func of[T any](p *partly, all []T, name func(T) string, do func([]T) ([]store.Reply, error)) ([]store.Reply, error) {
	if !p.away.Load() {
		return do(all)
	}
	replies, there, places := make([]store.Reply, len(all)), []T(nil), []int(nil)
	for i, one := range all {
		gone := strings.HasPrefix(name(one), "away")
		if gone {
			replies[i].Err = fmt.Errorf("%w: a master", task.ErrUnavailable)
		}
		if !gone || p.does.Load() {
			there, places = append(there, one), append(places, i)
		}
	}
	if len(there) < len(all) || p.does.Load() {
		time.Sleep(2 * time.Second)
	}
	got, err := do(there)
	for n, r := range got {
		if i := places[n]; replies[i].Err == nil {
			replies[i] = r
		}
	}
	return replies, err
}

func (p *partly) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	if k := steps[0].Kind; k != store.Claim && k != store.Settlement {
		return p.DispatchStore.Transit(ctx, now, steps)
	}
	return of(p, steps, func(st store.Step) string { return st.Key.Name }, func(there []store.Step) ([]store.Reply, error) {
		return p.DispatchStore.Transit(ctx, now, there)
	})
}

func TestAnUnavailableShardDoesNotStopTheTasksOfOthers(t *testing.T) {
	p := &partly{}
	slow := func(ctx context.Context, d task.Delivery) task.Outcome {
		time.Sleep(100 * time.Millisecond)
		return accept(ctx, d)
	}
	inBubble(t, Config{}, p.over, slow, func(b *bed) {
		b.create("away-begun", 0)
		b.create("there-begun", 0)
		time.Sleep(50 * time.Millisecond) // both attempts are under way
		p.away.Store(true)
		b.create("away-due", 0)
		b.create("there-due", 0)
		time.Sleep(5 * time.Second)
		for i := range 5 {
			b.create(fmt.Sprint("there-later", i), 0)
		}
		time.Sleep(5 * time.Second)
		for _, name := range []string{"there-begun", "there-due", "there-later0", "there-later4"} {
			if got := b.get(name); got.State != task.Delivered {
				t.Errorf("%s is %v", name, got.State)
			}
		}
		p.away.Store(false)
		time.Sleep(3 * time.Second)
		for _, name := range []string{"away-begun", "away-due"} {
			if got := b.get(name); got.State != task.Delivered || got.Attempts != 1 {
				t.Errorf("%s is %v after %d attempts", name, got.State, got.Attempts)
			}
		}
	})
}

func TestAClaimWithoutAReplyIsGivenBack(t *testing.T) {
	p := &partly{}
	inBubble(t, Config{}, p.over, accept, func(b *bed) {
		p.away.Store(true)
		p.does.Store(true)
		b.create("away", 0)
		time.Sleep(time.Second) // the claim is under way, and is applied
		p.away.Store(false)
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if got := b.get("away"); got.State != task.Delivered || got.Reclaims != 0 || got.Attempts != 1 {
			t.Errorf("%v, reclaims %d, tries %d", got.State, got.Reclaims, got.Attempts)
		}
	})
}

// vague is a queue that carries out claims, and does not say so. Until it is
// reachable, it carries out no settlement.
type vague struct {
	store.DispatchStore
	whole     bool // calls fail; otherwise each reply is an error
	reachable atomic.Bool
}

func (v *vague) over(q store.DispatchStore) store.DispatchStore { v.DispatchStore = q; return v }

func (v *vague) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	k := steps[0].Kind
	if v.reachable.Load() || k != store.Claim && k != store.Settlement {
		return v.DispatchStore.Transit(ctx, now, steps)
	}
	if k == store.Claim {
		_, _ = v.DispatchStore.Transit(ctx, now, steps)
	}
	if v.whole {
		return nil, errBroken
	}
	replies := make([]store.Reply, len(steps))
	for i := range replies {
		replies[i].Err = task.ErrUnavailable
	}
	return replies, nil
}

// After a stop, a task whose claim is unclear can be claimed at once, and not only
// when its lease has ended.
func TestAStopGivesUnclearClaimsBack(t *testing.T) {
	for _, whole := range []bool{false, true} {
		t.Run(fmt.Sprint("the call fails: ", whole), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := &vague{whole: whole}
				b := newBed(t, Config{}, v.over, accept)
				b.start()
				b.create("t", 0)
				b.pass(3 * time.Second)
				b.wantState("t", task.Running)
				v.reachable.Store(true)
				began := time.Now()
				if err := b.end(); err != nil || time.Since(began) > unclaimLimit {
					t.Errorf("Run: %v, after %v", err, time.Since(began))
				}
				if got := b.get("t"); got.State != task.Scheduled || got.Attempts != 0 || got.Reclaims != 0 {
					t.Errorf("%v, reclaims %d, tries %d", got.State, got.Reclaims, got.Attempts)
				}
				b.wantCalls(0)
			})
		})
	}
}
