package api

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// A sample of what comes due is used for at least dueFor, and for a multiple of
// its cost. So the samples of one query take at most a twentieth of a processor.
// In a shared store it is a fiftieth, because the servers of the store work for
// all nodes. After a sample, other queries of the namespace wait for dueRest times
// its cost: all together take at most a quarter of a processor.
const (
	dueFor                   = time.Second
	dueLongest               = 30 * time.Second // after a stall, a cost can be anything
	dueShare, sharedDueShare = 20, 50
	dueRest                  = 3
	maxDueSamples            = 128 // samples that are kept, unless requests use more
)

// dueSamples has the last sample of each query. The zero value is ready.
type dueSamples struct {
	mu   sync.Mutex // guards the maps, and users of the values of all
	all  map[dueQuery]*dueSample
	work map[view]*dueWork
}

// dueWork bounds the work for the samples of one view.
type dueWork struct {
	turn chan struct{} // full while a request computes a sample
	free time.Time     // the next computation begins at this time or later
}

// dueSample is the last sample of a query.
type dueSample struct {
	users int
	turn  chan struct{} // full while a request reads or writes the fields below
	body  []byte        // JSON; nil means that there is none
	until time.Time     // the sample is used until then
}

// take returns the present sample of q. One request computes a new sample, and
// the others wait for it.
func (d *dueSamples) take(ctx context.Context, q dueQuery, shared bool, compute func() ([]byte, time.Duration, error)) ([]byte, error) {
	one := d.enter(q)
	defer d.leave(one)
	if !lockTurn(ctx, one.turn) {
		return nil, ctx.Err()
	}
	defer func() { <-one.turn }()
	if one.body != nil && time.Now().Before(one.until) {
		return one.body, nil
	}
	work := d.workOf(q.view)
	if !lockTurn(ctx, work.turn) {
		return nil, ctx.Err()
	}
	defer func() { <-work.turn }()
	if !waitUntil(ctx, work.free) {
		return nil, ctx.Err()
	}
	body, cost, err := compute()
	work.free = time.Now().Add(min(dueRest*cost, dueLongest))
	if err != nil {
		return nil, err
	}
	share := time.Duration(dueShare)
	if shared {
		share = sharedDueShare
	}
	one.body, one.until = body, time.Now().Add(min(max(dueFor, share*cost), dueLongest))
	return body, nil
}

// lockTurn waits for the turn of a request. It reports false if the request ends
// before.
func lockTurn(ctx context.Context, turn chan struct{}) (ok bool) {
	select {
	case turn <- struct{}{}:
		return true
	default:
	}
	outside(ctx, func() {
		select {
		case turn <- struct{}{}:
			ok = true
		case <-ctx.Done():
		}
	})
	return ok
}

// waitUntil waits for a time. It reports false if the request ends before.
func waitUntil(ctx context.Context, at time.Time) bool {
	wait := time.Until(at)
	if wait <= 0 {
		return true
	}
	outside(ctx, func() {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	})
	return ctx.Err() == nil
}

// workOf returns the work for a view.
func (d *dueSamples) workOf(v view) *dueWork {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.work == nil {
		d.work = map[view]*dueWork{}
	}
	b := d.work[v]
	if b == nil {
		b = &dueWork{turn: make(chan struct{}, 1)}
		d.work[v] = b
	}
	return b
}

// enter returns the sample of q for one user. If there are too many samples, it
// drops those without users.
func (d *dueSamples) enter(q dueQuery) *dueSample {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.all[q]
	if one == nil {
		if len(d.all) >= maxDueSamples {
			for q, old := range d.all {
				if old.users == 0 {
					delete(d.all, q)
				}
			}
		}
		if d.all == nil {
			d.all = map[dueQuery]*dueSample{}
		}
		one = &dueSample{turn: make(chan struct{}, 1)}
		d.all[q] = one
	}
	one.users++
	return one
}

func (d *dueSamples) leave(one *dueSample) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one.users--
}

// encode returns the JSON of a value, with the end of its line.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	err := wire.Encode(&buf, v)
	buf.WriteByte('\n')
	return buf.Bytes(), err
}
