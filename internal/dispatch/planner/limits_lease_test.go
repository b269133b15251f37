package planner

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest/permittest"
	"pgregory.net/rapid"
)

// flight is a request that is under way.
type flight struct {
	node    int
	lease   *LimitLease
	reply   store.PermitReply
	carried bool
	ask     store.PermitAsk
	sent    time.Duration
}

// TestPlannersThatShareLimitsKeepThem runs several planners and a model of the
// store. Requests and replies between them take time, get lost, or find a lease
// ended.
func TestPlannersThatShareLimitsKeepThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := &settings.QueueSettings{Name: "q"}
		kinds := rapid.IntRange(1, 3).Draw(t, "limits")
		if kinds&1 > 0 {
			q.Concurrency = rapid.IntRange(1, 6).Draw(t, "concurrency")
		}
		if kinds&2 > 0 {
			q.Rate, q.Burst = rapid.Float64Range(1, 100).Draw(t, "rate"), rapid.IntRange(1, 20).Draw(t, "burst")
		}
		o := permittest.NewModel(time.Second)
		crowded := rapid.Bool().Draw(t, "crowded")
		if crowded {
			o.Share = func(_, held int) (int, time.Duration) {
				return rapid.IntRange(0, held).Draw(t, "share"), 20 * time.Millisecond
			}
		}
		planners := make([]*Planner, 3)
		claiming, running := make([][]*Pick, 3), make([][]*Pick, 3)
		for i := range planners {
			pl := New(Config{Window: 5 * time.Second, Tasks: 1000, Slots: 100, Shared: true})
			pl.Configure(noon, settings.NewSettings(q))
			planners[i] = pl
		}
		var flights []*flight
		var starts []time.Duration // an attempt that then sends nothing has used its token too
		monotonic, made := time.Second, 0
		for range rapid.IntRange(50, 400).Draw(t, "steps") {
			monotonic += time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 5, 60, 700}).Draw(t, "ms")) * time.Millisecond
			now := noon + task.Millis(monotonic/time.Millisecond)
			n := rapid.IntRange(0, 2).Draw(t, "node")
			pl := planners[n]
			pl.Tick(monotonic)
			if s := leaseOf(pl); s != nil {
				for _, b := range []*Wakeup{&s.wakeup, &s.queue.wakeup} {
					if b.IsSet() && b.Monotonic <= monotonic {
						pl.Wake(b, now)
					}
				}
			}
			switch rapid.IntRange(0, 7).Draw(t, "what") {
			case 0:
				for range rapid.SampledFrom([]int{1, 2, 5, 40}).Draw(t, "tasks") {
					made++
					pl.Hint(now, task.Entry{Name: fmt.Sprint("t", made), Lane: task.Lane{Queue: "q", Priority: task.Normal, Destination: "h"}, Due: now})
				}
			case 1, 2:
				picks := pl.Take(now, 10)
				for i := range picks {
					claiming[n] = append(claiming[n], &picks[i])
				}
				if rapid.IntRange(0, 3).Draw(t, "slow claim") == 0 {
					break
				}
				fallthrough
			case 7: // claims are answered
				for _, p := range claiming[n] {
					if rapid.IntRange(0, 9).Draw(t, "refused") == 0 {
						pl.Release(p, Nothing, nil)
						continue
					}
					if !pl.Begin(p) {
						pl.Release(p, Unsent, nil)
						continue
					}
					starts = append(starts, monotonic)
					running[n] = append(running[n], p)
				}
				claiming[n] = nil
			case 3:
				if len(running[n]) > 0 {
					i := rapid.IntRange(0, len(running[n])-1).Draw(t, "which")
					p, e := running[n][i], Replied
					if rapid.IntRange(0, 4).Draw(t, "unsent") == 0 {
						e = Unsent
					}
					pl.Release(p, e, nil)
					running[n] = slices.Delete(running[n], i, i+1)
				}
			case 4:
				leases, asks := pl.Asks(now, 10)
				for i, s := range leases {
					flights = append(flights, &flight{node: n, lease: s, ask: asks[i], sent: monotonic})
				}
			case 5, 6: // a request reaches the model, or a reply comes back
				for _, f := range flights {
					if f.node == n && !f.carried {
						if rapid.IntRange(0, 9).Draw(t, "lost") > 0 {
							f.reply = o.Permit(monotonic, n, f.ask)
						} else {
							f.reply.Err = task.ErrUnavailable
						}
						f.carried = true
						if rapid.IntRange(0, 9).Draw(t, "reply lost") == 0 {
							f.reply = store.PermitReply{Err: context.DeadlineExceeded}
						}
						break
					}
					if f.node == n && f.carried {
						pl.Granted(f.lease, f.reply, f.sent)
						flights = slices.DeleteFunc(flights, func(g *flight) bool { return g == f })
						break
					}
				}
			}
			pl.Refresh(now)
			sum := 0
			for i, pl := range planners {
				if s := leaseOf(pl); s != nil && s.lives(monotonic) {
					sum += max(len(running[i]), s.held)
				}
			}
			if lost := expiredAny(planners, running, monotonic); !lost && q.Concurrency > 0 && sum > q.Concurrency {
				t.Fatalf("%d are under way, or may be, of %d", sum, q.Concurrency)
			}
			if q.Rate > 0 {
				for i, at := range starts {
					if most := float64(q.Burst) + q.Rate*(monotonic-at).Seconds(); float64(len(starts)-i) > most+1e-6 {
						t.Fatalf("%d starts within %v, where %f may be", len(starts)-i, monotonic-at, most)
					}
				}
			}
		}
	})
}

func leaseOf(pl *Planner) *LimitLease {
	if q := pl.queues[queueKey{"", "q"}]; q != nil {
		return q.lease
	}
	return nil
}

// expiredAny reports whether some node has more attempts under way than it
// holds permits for. Then its lease was lost, and another node may have the
// permits.
func expiredAny(planners []*Planner, running [][]*Pick, monotonic time.Duration) bool {
	for i, pl := range planners {
		if s := leaseOf(pl); s != nil && len(running[i]) > 0 && (!s.lives(monotonic) || len(running[i]) > s.held) {
			return true
		}
	}
	return false
}

// one is the planner of a node with one queue, with a rate that nodes share.
type one struct {
	*Planner
	t     *testing.T
	model *permittest.Model
	made  int
}

func newOne(t *testing.T, rate float64, burst int) *one {
	o := &one{Planner: New(Config{Window: 5 * time.Second, Tasks: 1000, Slots: 100, Shared: true}), t: t, model: permittest.NewModel(time.Second)}
	o.Configure(noon, settings.NewSettings(&settings.QueueSettings{Name: "q", Rate: rate, Burst: burst}))
	o.Tick(time.Second)
	return o
}

// due makes n tasks due.
func (o *one) due(n int) {
	for range n {
		o.made++
		o.Hint(noon, task.Entry{Name: fmt.Sprint("t", o.made), Lane: task.Lane{Queue: "q", Priority: task.Normal, Destination: "h"}, Due: noon})
	}
}

// asks sends the requests of now. reply delivers their replies.
func (o *one) asks() (reply func()) {
	o.t.Helper()
	leases, asks := o.Planner.Asks(noon, 10)
	if len(asks) != 1 {
		o.t.Fatalf("%d asks", len(asks))
	}
	r, sent := o.model.Permit(o.monotonic, 0, asks[0]), o.monotonic
	return func() { o.Granted(leases[0], r, sent) }
}

// passes lets time pass, and wakes the lease.
func (o *one) passes(d time.Duration) {
	o.Tick(o.monotonic + d)
	o.wakeLease(leaseOf(o.Planner))
}

// start begins the picks that may begin, as if their claims were granted now.
// It returns them.
func (o *one) start(picks []Pick) (began []*Pick) {
	for i := range picks {
		p := &picks[i]
		if !o.Begin(p) {
			o.Release(p, Unsent, nil)
			continue
		}
		began = append(began, p)
	}
	return began
}

func (o *one) wantStarts(n int, what string) []*Pick {
	o.t.Helper()
	began := o.start(o.Take(noon, 100))
	if len(began) != n {
		o.t.Errorf("%d have started %s, want %d", len(began), what, n)
	}
	return began
}

// TestTokensUsedDuringARequestStayUsed: even if the lease under which they
// were used has ended when the reply comes.
func TestTokensUsedDuringARequestStayUsed(t *testing.T) {
	o := newOne(t, 0.001, 5)
	o.due(5)
	o.asks()()
	o.passes(500 * time.Millisecond)
	reply := o.asks()
	for _, p := range o.wantStarts(5, "under the first lease") {
		o.Release(p, Replied, nil)
	}
	o.due(5)
	o.passes(600 * time.Millisecond)
	reply()
	o.wantStarts(0, "under the second, with the same tokens")
}

// TestASlowClaimDoesNotUseAnExpiredToken: not even if its node has got
// a new lease with fewer tokens.
func TestASlowClaimDoesNotUseAnExpiredToken(t *testing.T) {
	o := newOne(t, 1, 5)
	o.due(5)
	o.asks()()
	slow := o.Take(noon, 100)
	o.passes(3200 * time.Millisecond)
	o.due(1)
	o.asks()()
	if n := len(o.start(slow)); n != 2 {
		t.Errorf("of %d claims that took long %d have started, want 2", len(slow), n)
	}
	o.wantStarts(0, "with no token left")
}

// TestTokensThatAreGivenBackAreNotUsed: not even before the store has them.
func TestTokensThatAreGivenBackAreNotUsed(t *testing.T) {
	o := newOne(t, 1, 5)
	o.due(4)
	o.asks()()
	l := leaseOf(o.Planner).queue.lanes[0]
	for _, it := range slices.Clone(l.order.items) {
		o.window.forget(l, it) // it was cancelled
	}
	o.mark(l, false)
	o.Refresh(noon)
	o.passes(2 * keepTokens)
	grant := o.asks()
	o.due(1)
	if n := len(o.Take(noon, 10)); n != 0 {
		t.Errorf("%d have started with tokens that were given back", n)
	}
	grant()
	o.asks()()
	if n := len(o.Take(noon, 10)); n != 1 {
		t.Errorf("%d have started with a new token", n)
	}
}
