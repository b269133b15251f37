package api

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// A sample of what comes due is used for at least dueFor, and for a multiple of
// its cost. So samples take at most a twentieth of a processor. In a shared store
// it is a fiftieth, because the servers of the store work for all nodes.
const (
	dueFor                   = time.Second
	dueShare, sharedDueShare = 20, 50
	maxDueSamples            = 128 // samples that are kept, unless requests use more
)

// dueSamples has the last sample of each query. The zero value is ready.
type dueSamples struct {
	mu  sync.Mutex // guards all and users of its values
	all map[dueQuery]*dueSample
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
	if !one.lock(ctx) {
		return nil, ctx.Err()
	}
	defer func() { <-one.turn }()
	if one.body != nil && time.Now().Before(one.until) {
		return one.body, nil
	}
	body, cost, err := compute()
	if err != nil {
		return nil, err
	}
	share := time.Duration(dueShare)
	if shared {
		share = sharedDueShare
	}
	one.body, one.until = body, time.Now().Add(max(dueFor, share*cost))
	return body, nil
}

// lock waits for the turn of a request. It reports false if the request ends
// before.
func (one *dueSample) lock(ctx context.Context) (ok bool) {
	select {
	case one.turn <- struct{}{}:
		return true
	default:
	}
	outside(ctx, func() {
		select {
		case one.turn <- struct{}{}:
			ok = true
		case <-ctx.Done():
		}
	})
	return ok
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
