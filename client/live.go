package client

import (
	"context"
	"net/http"
	"time"
)

// Live describes the work of a server at one moment. A namespace's own token
// sees only the queues and destinations of its namespace, and zero for the
// rest.
type Live struct {
	Now          time.Time     // the server's clock at the reply; zero: an older server
	At           time.Time     // time of the sample, at most a second ago
	Running      int           // attempts under way, in all namespaces
	Slots        int           // highest number of attempts under way
	Late         Lateness      // over the last minute
	Attempts     AttemptTotals // since the server started
	Suspended    []string      // namespaces that are suspended: none of their tasks start
	Queues       []LiveQueue   // queues with running or overdue tasks
	Destinations []LiveDestination
}

// Lateness measures the time from the due time to the first byte of the
// attempt.
type Lateness struct {
	Count              uint64
	P50, P90, P99, Max time.Duration
}

// AttemptTotals counts the outcomes of attempts, and dead tasks.
type AttemptTotals struct {
	Delivered, Failed uint64
	Deferred          uint64 // the receiver asked for a later attempt
	Refused           uint64 // 410, Foliot-No-Retry, or denied by the egress guard
	Interrupted       uint64 // stopped with the server
	Dead              uint64 // dead tasks, for any reason
}

// LiveQueue describes the work of one queue.
type LiveQueue struct {
	Namespace, Queue string
	Running          int
	Overdue          int           // due tasks that wait, as far as the server has read them
	Oldest           time.Duration // time since the oldest of them became due
	LimitedBy        string        // the reason for the wait: "paused", "rate", "concurrency" …; empty: none
}

// LiveDestination describes the attempts of a namespace to one destination.
type LiveDestination struct {
	Namespace, Destination string // host:port
	Running, Overdue       int
	Oldest                 time.Duration
	Breaker                string    // "closed", "open" or "half_open"
	OpenUntil              time.Time // when an open breaker lets a few attempts through
}

// Live returns the current work of the server.
func (a Admin) Live(ctx context.Context) (*Live, error) {
	v := new(Live)
	_, err := a.conn.do(ctx, &call{op: "get live data", method: http.MethodGet, path: "/live", repeatable: true, into: v})
	return orNil(v, err)
}
