package planner

import (
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/dispatch/permittest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// one is the planner of a node with one queue, with a rate that nodes share.
type one struct {
	*Planner
	t     *testing.T
	model *permittest.Model
	made  int
}

func newOne(t *testing.T, rate float64, burst int) *one {
	o := &one{Planner: New(Config{Window: 5 * time.Second, Tasks: 1000}, 100), t: t, model: permittest.NewModel(time.Second)}
	o.config.Shared = true
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
	return func() { o.Granted(leases[0], r, sent, noon) }
}

// passes lets time pass, and wakes the lease.
func (o *one) passes(d time.Duration) {
	o.Tick(o.monotonic + d)
	leaseOf(o.Planner).wake(o.Planner, noon)
}

// start begins the picks that may begin, as if their claims were granted now.
// It returns them.
func (o *one) start(picks []Pick) (began []*Pick) {
	for i := range picks {
		p := &picks[i]
		covered := o.Covered(p)
		o.Begin(p)
		if !covered {
			o.Release(p, noon, Unsent, nil)
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
		o.Release(p, noon, Replied, nil)
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

// TestAnUnsentStartGivesBackNoTokenThatWasReportedAsUsed: the store has
// refilled its bucket since.
func TestAnUnsentStartGivesBackNoTokenThatWasReportedAsUsed(t *testing.T) {
	o := newOne(t, 10, 1)
	o.due(1)
	o.asks()()
	first := o.wantStarts(1, "first")
	o.due(2)
	o.passes(200 * time.Millisecond)
	o.asks()()
	second := o.wantStarts(1, "when there was a second token")
	o.Release(first[0], noon, Unsent, nil)
	o.wantStarts(0, "with the token of the second")
	o.Release(second[0], noon, Unsent, nil)
	o.wantStarts(1, "with a token that is unused")
}
