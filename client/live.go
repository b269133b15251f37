package client

import (
	"context"
	"net/http"
	"time"
)

// Live is what a server is doing at one moment. A namespace's own token sees its queues and destinations alone: what concerns the whole server is
// zero then.
type Live struct {
	Now          time.Time     // the server's clock when it answered; zero: an older server
	At           time.Time     // when the sample was taken, a second ago or less
	Running      int           // attempts under way, of all namespaces
	Slots        int           // how many may be
	Late         Lateness      // over the last minute
	Attempts     AttemptTotals // since the server started
	Suspended    []string      // suspended: none of their tasks start
	Queues       []LiveQueue   // those that have something running or overdue
	Destinations []LiveDestination
}

// Lateness is how long after its due time the first byte of an attempt was sent.
type Lateness struct {
	Count              uint64
	P50, P90, P99, Max time.Duration
}

// AttemptTotals counts how attempts ended, and tasks died.
type AttemptTotals struct {
	Delivered, Failed uint64
	Deferred          uint64 // the receiver said when to come back
	Refused           uint64 // 410, Foliot-No-Retry, or denied by the egress guard
	Interrupted       uint64 // stopped with the server
	Dead              uint64 // tasks that gave up, whatever the reason
}

// LiveQueue is what goes on in a queue.
type LiveQueue struct {
	Namespace, Queue string
	Running          int
	Overdue          int           // tasks that are due and wait, as far as the server has read them
	Oldest           time.Duration // for how long the oldest of them has been due
	LimitedBy        string        // what they wait for: "paused", "rate", "concurrency" …; empty: nothing
}

// LiveDestination is what goes on between a namespace and a destination.
type LiveDestination struct {
	Namespace, Destination string // host:port
	Running, Overdue       int
	Oldest                 time.Duration
	Breaker                string    // "closed", "open" or "half_open"
	OpenUntil              time.Time // when an open one lets a few attempts find out
}

// Live says what the server is doing.
func (a Admin) Live(ctx context.Context) (*Live, error) {
	v := new(Live)
	_, err := a.conn.do(ctx, &call{op: "ask what goes on", method: http.MethodGet, path: "/live", repeatable: true, into: v})
	return orNil(v, err)
}
