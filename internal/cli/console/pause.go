package console

import (
	"context"
	"errors"
	"time"

	"github.com/foliot/foliot/client"
)

// Pause returns true after d, or false as soon as ctx ends.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// RateDelay is the pause before a call above a rate of the namespace is sent again.
const RateDelay = time.Second

// WithinRate calls call until a rate of the namespace is not exceeded, or ctx ends.
func WithinRate(ctx context.Context, call func() error) error {
	for {
		err := call()
		if refused, ok := errors.AsType[*client.Error](err); !ok || refused.Code != "rate_exceeded" {
			return err
		}
		if !Pause(ctx, RateDelay) {
			return context.Cause(ctx)
		}
	}
}
