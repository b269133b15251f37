package foliot

import "context"

// Tracer makes spans of handlers, for Options.Tracer: foliot/traces has one for
// OpenTelemetry. Several goroutines call its methods at the same time. A program
// can have a Tracer of its own, so no later version adds a method to this
// interface.
type Tracer interface {
	// Traceparent returns the span in ctx as a W3C traceparent, or "" if there is
	// none. A Node stores it with each task that is created with ctx.
	Traceparent(ctx context.Context) string
	// Start begins the span of an attempt. The handler gets the returned context.
	// When it has returned, end is called with its error, which is nil after
	// Snooze too. traceparent is that of the task, or "".
	Start(ctx context.Context, c *Call, traceparent string) (_ context.Context, end func(error))
}
