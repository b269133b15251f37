package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"
)

// RetryPolicy says how a call is repeated that may be: see the package's comment. The pauses double from MinBackoff to MaxBackoff,
// each between a half and the whole of that; where the server names a time, with Retry-After, a pause is that much longer.
type RetryPolicy struct {
	// Attempts is how often a call is tried, the first time included; 1: once. Default: 4.
	Attempts int
	// MinBackoff is before the second try. Default: 100ms.
	MinBackoff time.Duration
	// MaxBackoff is the longest pause, and the longest Retry-After that is waited for: where the server asks for more, the call
	// returns, with an Error that says how much. Default: 10s.
	MaxBackoff time.Duration
	// Within bounds the repeats by time, too: none begins later than so long after the first try. Default: no bound.
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

// next says whether a call that failed with err in its try-th try, so long after the first began, is repeated, and after which pause.
func (r RetryPolicy) next(try int, spent time.Duration, repeatable bool, err error) (pause time.Duration, again bool) {
	if try >= r.Attempts {
		return 0, false
	}
	var refused *Error
	var silent *TransportError
	switch {
	case errors.As(err, &refused):
		again = refused.Status == http.StatusTooManyRequests || repeatable && busy(refused.Status)
		if refused.RetryAfter > r.MaxBackoff {
			return 0, false
		}
		pause = refused.RetryAfter
	case errors.As(err, &silent):
		again = !hopeless(silent.Err) && (repeatable || !silent.MaybeApplied)
	}
	pause += r.backoff(try)
	return pause, again && (r.Within <= 0 || spent+pause <= r.Within)
}

// busy reports whether the status says that a later try may succeed. 500 does not: it is a fault that stays.
func busy(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// backoff returns the pause after the try-th try: between a half and the whole of what doubled so often.
func (r RetryPolicy) backoff(try int) time.Duration {
	d := r.MinBackoff
	for ; try > 1 && d < r.MaxBackoff; try-- {
		d *= 2
	}
	d = min(d, r.MaxBackoff)
	return d/2 + rand.N(d/2+1)
}

// rest returns nil after d, the context's error when it ends before that, and context.DeadlineExceeded at once where it will.
func rest(ctx context.Context, d time.Duration) error {
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return context.DeadlineExceeded
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
