package main

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/redistest"
)

// ward is servers with replicas, one master of which is struck again and again.
// One goroutine drives it.
type ward interface {
	url() string
	// strike makes a master unavailable, to some or to all.
	strike() error
	// promoted returns nil once another server is the master in its place.
	promoted(ctx context.Context) error
	// heal brings the old one back, and returns when all follow as they should.
	heal(ctx context.Context) error
	// promotions returns how many masters were made so far.
	promotions(ctx context.Context) (int, error)
	close()
}

const (
	failoverRate  = 300             // creates a second
	failoverDue   = 5 * time.Second // tasks are due up to this long from their creation
	failoverShare = 0.05            // of them is cancelled
	serviceAgain  = 100             // answered creates that show that service is there again
	strikeWithin  = 2 * time.Minute // a busy machine has its sentinels doubt one master after another
)

// levels are the durability levels, weakest first.
var levels = []string{"async", "default", "strict"}

// failOver strikes masters at every level, and prints what each lost. What was
// answered at the strict one must be there, whatever happened to one master.
// Where a second one that lived lost its place too, what the replica that confirmed it
// has may be thrown away with it.
func failOver(ctx context.Context, t *trial, fault string, runs int, open func(dir, level string) (ward, error)) error {
	var table []losses
	for _, level := range levels {
		l, err := t.failOverAt(ctx, level, fault, runs, open)
		if err != nil {
			return fmt.Errorf("durability %s: %w", level, err)
		}
		table = append(table, l)
		t.must(len(l.Early) == 0, "%s: early %d%s", level, len(l.Early), some(l.Early))
		t.must(len(l.Lost) == l.byTwice || level != "strict", "%s: lost %d of %d answered, %d of them where a second master that lived lost its place%s", level, len(l.Lost), l.Accepted, l.byTwice, some(l.Lost))
		t.must(len(l.AfterCancel) == 0 || l.twice > 0 || level != "strict", "%s: delivered after a cancel's 200: %d%s", level, len(l.AfterCancel), some(l.AfterCancel))
	}
	t.note("")
	t.note("| level | fault | runs | with a second promotion | answered | lost | with a second promotion | in how many runs | worst run | cancels undone | duplicates | without service, median and longest |")
	t.note("|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, l := range table {
		t.note("%s", l)
	}
	return nil
}

// failOverAt is failOver for one level.
func (t *trial) failOverAt(ctx context.Context, level, fault string, runs int, open func(dir, level string) (ward, error)) (l losses, err error) {
	sub := level + "-" + fault
	w, err := open(t.path(sub+"-redis"), level)
	if err != nil {
		return l, err
	}
	defer w.close()
	n, err := t.nodesIn(sub, 2, w.url(), "--shard-lease", "1s", "--lease", "2s", "--durability", level)
	if err != nil {
		return l, err
	}
	defer n.close()
	if err := n.startAll(ctx); err != nil {
		return l, err
	}
	load := &killLoad{st: n.stage, to: n.doors, rate: failoverRate, ahead: failoverDue, share: failoverShare}
	stop := inBackground(ctx, load.run)
	struck, err := n.strikeRepeatedly(ctx, w, runs)
	stop()
	if err != nil {
		return l, err
	}
	pause(ctx, failoverDue)
	if err := n.awaitPromised(ctx, 10*time.Second); err != nil {
		return l, err
	}
	pause(ctx, 4*time.Second) // what comes twice or after its cancel would come by now
	if err := n.stopAll(25 * time.Second); err != nil {
		return l, err
	}
	e, err := n.evidence()
	if err != nil {
		return l, err
	}
	t.note("%s: answered %d, not at all %d, 5xx or no answer to cancels %d", level, len(e.Accepted), load.unanswered, load.cancels[0])
	return judgeLosses(level, fault, struck, e), nil
}

// strikeRepeatedly strikes a master so many times. Between two strikes creates
// are answered as before, and all replicas follow.
func (n *nodes) strikeRepeatedly(ctx context.Context, w ward, runs int) (all []stricken, err error) {
	for i := range runs {
		before, err := w.promotions(ctx)
		if err != nil {
			return all, err
		}
		r := stricken{began: time.Now()}
		if !pause(ctx, time.Second+time.Duration(n.t.rand.Int64N(int64(time.Second)))) {
			return all, ctx.Err()
		}
		r.at = time.Now()
		if err := n.fault("strike", r.at); err != nil {
			return all, err
		}
		if err := w.strike(); err != nil {
			return all, err
		}
		ctx, stop := context.WithTimeout(ctx, strikeWithin)
		err = redistest.Poll(ctx, w.promoted)
		if err == nil {
			err = n.served(ctx)
		}
		if err == nil {
			err = w.heal(ctx)
		}
		after := before
		if err == nil {
			after, err = w.promotions(ctx)
		}
		r.twice = after > before+1
		stop()
		if err != nil {
			return all, fmt.Errorf("run %d: %w", i+1, err)
		}
		all = append(all, r)
		if (i+1)%max(5, runs/5) == 0 {
			n.t.note("struck %d times", i+1)
		}
	}
	return all, nil
}

// served returns when so many creates more were answered, which is once the
// successor takes them.
func (n *nodes) served(ctx context.Context) error {
	goal := n.promises.Load() + serviceAgain
	return redistest.Poll(ctx, func(context.Context) error {
		if missing := goal - n.promises.Load(); missing > 0 {
			return fmt.Errorf("creates are not answered any more: %d to go", missing)
		}
		return nil
	})
}
