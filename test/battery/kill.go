package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

const (
	killRate    = 500                     // creates a second
	killDue     = 3 * time.Second         // tasks are due up to this long ahead
	killPause   = 1200 * time.Millisecond // a server lives at most so long
	maxInFlight = 1024                    // attempts that a server may have under way, flag --concurrency
)

// killed: kill -9 at random moments, in the middle of a start too, while tasks
// are created, delivered and cancelled.
func killed(ctx context.Context, t *trial) error {
	st, err := t.stage(ctx)
	if err != nil {
		return err
	}
	defer st.close()

	load := &killLoad{st: st, to: st.client, rate: killRate, share: t.opts.cancel}
	if err := load.during(ctx, func() error { return st.killRepeatedly(ctx, t.opts.kills) }); err != nil {
		return err
	}
	return st.concludeKills(ctx, load)
}

// killRepeatedly leaves a running server behind.
func (st *stage) killRepeatedly(ctx context.Context, kills int) error {
	for i := range kills {
		lives := time.Duration(st.t.rand.Int64N(int64(killPause)))
		if !timing.Pause(ctx, lives) {
			return ctx.Err()
		}
		if err := st.faults.Append(verify.Fault{Kind: "kill -9", At: st.server.killNow()}); err != nil {
			return err
		}
		st.server.reap()
		if err := st.server.start(); err != nil {
			return err
		}
		if (i+1)%20 == 0 || i+1 == kills { // prove now and then that it comes up at all: others die while they start
			if _, err := st.server.ready(ctx, 20*time.Second); err != nil {
				return err
			}
		}
		if (i+1)%max(20, kills/20) == 0 {
			st.t.note("killed %d times", i+1)
		}
	}
	return nil
}

func (st *stage) concludeKills(ctx context.Context, load *killLoad) error {
	if err := st.awaitPromised(ctx, 60*time.Second); err != nil {
		return err
	}
	timing.Pause(ctx, 2*time.Second) // what comes twice or after its cancel would come by now
	if err := st.server.stop(25 * time.Second); err != nil {
		return err
	}
	v, err := st.judge()
	if err != nil {
		return err
	}
	t := st.t
	t.note("kills %d", v.Faults)
	load.report(t, v)
	t.must(v.MostPerFault <= maxInFlight, "duplicates %d, by one kill at most %d; in flight at most %d", v.Duplicates, v.MostPerFault, maxInFlight)
	t.lateness("of first arrivals, downtime included", v.Late)
	return nil
}

// front is what a load speaks to: a server, or several.
type front interface {
	create(ctx context.Context, in wire.TaskInput) (bool, error)
	cancel(ctx context.Context, name string) int
}

// killLoad creates tasks at a fixed rate and cancels some of them. run is its
// only goroutine beside those of the requests, and waits for them.
type killLoad struct {
	st    *stage
	to    front
	rate  int           // creates a second, whatever the server does
	ahead time.Duration // tasks are due up to this long from their creation; 0: killDue
	share float64       // is cancelled

	mu         sync.Mutex // guards everything below
	unanswered int
	cancels    map[int]int // by status
}

// run goes on until ctx ends.
func (l *killLoad) run(ctx context.Context) {
	l.cancels = map[int]int{}
	timing.AtRate(ctx, l.rate, func(i int) { l.live(ctx, i) })
}

// during is run while do goes on.
func (l *killLoad) during(ctx context.Context, do func() error) error {
	stop := timing.InBackground(ctx, l.run)
	defer stop()
	return do()
}

// live creates one task and cancels some. The dice are the task's own: what it
// does depends on the seed alone.
func (l *killLoad) live(ctx context.Context, i int) {
	dice := rand.New(rand.NewPCG(l.st.t.opts.seed, uint64(i)))
	name, due := fmt.Sprintf("kill-%d", i), timing.DueIn(time.Duration(dice.Int64N(int64(cmp.Or(l.ahead, killDue)))))
	l.create(context.WithoutCancel(ctx), name, due)
	if dice.Float64() >= l.share {
		return
	}
	timing.Until(ctx, due.Add(-time.Duration(dice.Int64N(int64(time.Second)))))
	l.cancel(context.WithoutCancel(ctx), name)
}

func (l *killLoad) create(ctx context.Context, name string, due time.Time) {
	ok, err := l.to.create(ctx, input(name, l.st.receiver.URL(), due))
	if ok {
		err = l.st.promised(name, due)
	}
	if err != nil {
		l.mu.Lock()
		l.unanswered++
		l.mu.Unlock()
	}
}

func (l *killLoad) cancel(ctx context.Context, name string) {
	status := l.to.cancel(ctx, name)
	if err := l.st.cancelled.Append(verify.Cancelled{Name: name, Status: status, At: time.Now()}); err != nil {
		return
	}
	l.mu.Lock()
	l.cancels[status]++
	l.mu.Unlock()
}

// report prints what was answered, and judges the cancels.
func (l *killLoad) report(t *trial, v verify.Verdict) {
	t.note("creates without an answer %d", l.unanswered)
	t.note("cancels answered 200: %d, 202: %d, 409: %d, not at all: %d", l.cancels[200], l.cancels[202], l.cancels[409], l.cancels[0])
	t.must(len(v.AfterCancel) == 0, "delivered after a cancel's 200: %d%s", len(v.AfterCancel), verify.Examples(v.AfterCancel))
}
