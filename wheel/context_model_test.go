package wheel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

type ctxKey struct{}

// noDeadline hides a context's deadline.
type noDeadline struct{ context.Context }

func (noDeadline) Deadline() (time.Time, bool) { return time.Time{}, false }

// ctxPair is a context of Timers, or one that is derived from such contexts,
// and the same with package context alone.
type ctxPair struct {
	ours, theirs context.Context
	cancel       func()
	calls        *[2]atomic.Int32 // of functions of context.AfterFunc
}

// derive derives a pair of a random kind from p.
func (p ctxPair) derive(r *rand.Rand, tm *Timers) ctxPair {
	d := time.Duration(r.IntN(30)-2)*100*time.Millisecond + 23*time.Millisecond
	child := ctxPair{cancel: func() {}, calls: new([2]atomic.Int32)}
	var a, b func()
	switch r.IntN(8) {
	case 0:
		child.ours, a = context.WithCancel(p.ours)
		child.theirs, b = context.WithCancel(p.theirs)
	case 1:
		reason := errors.New("a reason")
		ours, cancelOurs := context.WithCancelCause(p.ours)
		theirs, cancelTheirs := context.WithCancelCause(p.theirs)
		child.ours, a, child.theirs, b = ours, func() { cancelOurs(reason) }, theirs, func() { cancelTheirs(reason) }
	case 2:
		v := r.IntN(100)
		child.ours, child.theirs = context.WithValue(p.ours, ctxKey{}, v), context.WithValue(p.theirs, ctxKey{}, v)
		return child
	case 3:
		if r.IntN(4) == 0 {
			child.ours, child.theirs = context.WithoutCancel(p.ours), context.WithoutCancel(p.theirs)
		} else {
			child.ours, child.theirs = noDeadline{p.ours}, noDeadline{p.theirs}
		}
		return child
	case 4:
		child.ours, a = context.WithTimeout(p.ours, d)
		child.theirs, b = context.WithTimeout(p.theirs, d)
	case 5:
		child.ours, a = tm.WithDeadline(p.ours, time.Now().Add(d))
		child.theirs, b = context.WithDeadline(p.theirs, time.Now().Add(d))
	default:
		child.ours, a = tm.WithTimeout(p.ours, d)
		child.theirs, b = context.WithTimeout(p.theirs, d)
	}
	child.cancel = func() { a(); b() }
	return child
}

// compare checks that both contexts are in the same state.
func (p ctxPair) compare(t *testing.T, what string) {
	t.Helper()
	ended := func(ctx context.Context) bool {
		select {
		case <-ctx.Done():
			return true
		default:
			return false
		}
	}
	if a, b := ended(p.ours), ended(p.theirs); a != b {
		t.Errorf("%s: done %v, want %v", what, a, b)
	}
	p.compareErr(t, what)
	at, ok := p.ours.Deadline()
	want, has := p.theirs.Deadline()
	if ok != has || !at.Equal(want) || p.ours.Value(ctxKey{}) != p.theirs.Value(ctxKey{}) || p.calls[0].Load() != p.calls[1].Load() {
		t.Errorf("%s: Deadline = %v, %v, want %v, %v; values %v and %v; %d calls, want %d",
			what, at, ok, want, has, p.ours.Value(ctxKey{}), p.theirs.Value(ctxKey{}), p.calls[0].Load(), p.calls[1].Load())
	}
}

func (p ctxPair) compareErr(t *testing.T, what string) {
	t.Helper()
	if p.ours.Err() != p.theirs.Err() || context.Cause(p.ours) != context.Cause(p.theirs) { //nolint:errorlint // exactly the same
		t.Errorf("%s: Err = %v, Cause = %v; want %v, %v", what, p.ours.Err(), context.Cause(p.ours), p.theirs.Err(), context.Cause(p.theirs))
	}
}

// A random tree of contexts of both packages behaves as the same tree of
// package context alone. A cancellation ends everything below at once, and
// nothing above. Operations and deadlines never coincide.
func TestContextsBehaveAsThoseOfPackageContext(t *testing.T) {
	for seed := range uint64(150) {
		for _, cfg := range []Config{{Shards: 1, Run: Inline}, {Shards: 2}} {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(4, seed))
				tm := NewTimers(cfg)
				all := []ctxPair{{t.Context(), t.Context(), func() {}, new([2]atomic.Int32)}}
				for step := range 40 {
					what := func(i int) string { return fmt.Sprintf("seed %d, step %d, context %d: %v", seed, step, i, all[i].ours) }
					switch p := all[r.IntN(len(all))]; r.IntN(8) {
					case 0:
						p.cancel()
						for i := range all { // at once
							all[i].compareErr(t, what(i))
						}
					case 1:
						stop := context.AfterFunc(p.ours, func() { p.calls[0].Add(1) })
						stopTheirs := context.AfterFunc(p.theirs, func() { p.calls[1].Add(1) })
						if r.IntN(3) == 0 {
							synctest.Wait()
							if a, b := stop(), stopTheirs(); a != b {
								t.Errorf("a function was stopped: %v, want %v", a, b)
							}
						}
					case 2, 3:
						time.Sleep(time.Duration(r.IntN(5)) * 100 * time.Millisecond)
					default:
						all = append(all, p.derive(r, tm))
					}
					synctest.Wait()
					for i := range all {
						all[i].compare(t, what(i))
					}
					if t.Failed() {
						t.FailNow()
					}
				}
				for _, p := range all {
					p.cancel()
				}
				if n := tm.Len(); n != 0 {
					t.Errorf("%d timers pending", n)
				}
			})
		}
	}
}
