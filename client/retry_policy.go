package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// RetryPolicy sets how calls are repeated, for the calls that docs/clients.md
// lists. In every field, zero or less means the default.
//
// Between two requests the client waits for the backoff, plus the Retry-After
// of the server's reply if it has one. The backoff doubles from MinBackoff to
// MaxBackoff. Each time, a random part of up to half of it is left out.
type RetryPolicy struct {
	// Attempts is the highest number of requests for a call, including the
	// first. 1 means no repeats. Default: 4.
	Attempts int
	// MinBackoff is the backoff before the second request. Default: 100ms.
	MinBackoff time.Duration
	// MaxBackoff is the longest backoff, and the longest Retry-After that the
	// client waits for, so a pause lasts at most twice MaxBackoff. If the
	// server asks for more, the call returns an Error with that RetryAfter.
	// Default: 10s.
	MaxBackoff time.Duration
	// Within is the longest time from the start of the first request to the
	// start of the last, so a repeat that would start later is not made.
	// Default: no bound.
	Within time.Duration
}

func (r RetryPolicy) withDefaults() RetryPolicy {
	if r.Attempts <= 0 {
		r.Attempts = 4
	}
	if r.MinBackoff <= 0 {
		r.MinBackoff = 100 * time.Millisecond
	}
	if r.MaxBackoff <= 0 {
		r.MaxBackoff = 10 * time.Second
	}
	return r
}

// next decides about a call whose request number try failed with err, spent
// after the first began. It reports whether to repeat it, and returns the pause
// before that.
func (r RetryPolicy) next(try int, spent time.Duration, repeatable bool, err error) (pause time.Duration, again bool) {
	if try >= r.Attempts {
		return 0, false
	}
	if refused, ok := errors.AsType[*Error](err); ok {
		again = refused.Status == http.StatusTooManyRequests || repeatable && busy(refused.Status)
		if refused.RetryAfter > r.MaxBackoff {
			return 0, false
		}
		pause = refused.RetryAfter
	} else if transport, ok := errors.AsType[*TransportError](err); ok {
		again = !permanent(transport.Err) && (repeatable || !transport.MaybeApplied)
	}
	pause += r.backoff(try)
	return pause, again && (r.Within <= 0 || spent+pause <= r.Within)
}

// busy reports whether a repeat may succeed after this status; it is false for
// 500, a fault that stays.
func busy(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// backoff returns the pause after request number try: between half and all of
// the doubled MinBackoff.
func (r RetryPolicy) backoff(try int) time.Duration {
	d := r.MinBackoff
	for ; try > 1 && d < r.MaxBackoff; try-- {
		d *= 2
	}
	d = min(d, r.MaxBackoff)
	return d/2 + rand.N(d/2+1)
}

// sleep waits for d and returns nil, or the context's error if the context ends
// first. If the context's deadline would pass during the wait, it returns
// context.DeadlineExceeded at once.
func sleep(ctx context.Context, d time.Duration) error {
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return context.DeadlineExceeded
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// repeat sends calls until each has its result, and repeats those that may be
// repeated.
func (cn *connection) repeat(ctx context.Context, calls []*pending, send func(context.Context, []*pending)) {
	began := time.Now()
	for {
		send(ctx, calls)
		var again []*pending
		var pause time.Duration
		for _, p := range calls {
			if p.err == nil {
				continue
			}
			p.maybeApplied = p.maybeApplied || MaybeApplied(p.err)
			d, repeat := p.next(cn.retry, time.Since(began))
			if !repeat || ctx.Err() != nil {
				p.err = withMaybeApplied(p.err, p.maybeApplied)
				continue
			}
			again, pause = append(again, p), max(pause, d)
		}
		if len(again) == 0 {
			return
		}
		if ended := sleep(ctx, pause); ended != nil {
			for _, p := range again {
				p.err = withMaybeApplied(fmt.Errorf("%w (%w while waiting to repeat it)", p.err, ended), p.maybeApplied)
			}
			return
		}
		calls = again
	}
}

// next decides about a call that failed: see RetryPolicy.next. After a batch
// that failed as a whole, its calls go out in smaller batches. If one of them
// may be at fault, this goes on until each was sent alone.
func (p *pending) next(r RetryPolicy, spent time.Duration) (pause time.Duration, again bool) {
	var refused *Error
	if p.whole > 1 && errors.As(p.err, &refused) {
		switch s := refused.Status; {
		case s == http.StatusInternalServerError && p.call.Repeatable && r.Attempts > 1:
			return r.backoff(1), true
		case s >= 400 && s < 500 && s != http.StatusUnauthorized && s != http.StatusForbidden && s != http.StatusTooManyRequests:
			return 0, true
		}
	}
	p.requests++
	return r.next(p.requests, spent, p.call.Repeatable, p.err)
}
