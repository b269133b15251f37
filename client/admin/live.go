package admin

import (
	"context"
	"time"

	"github.com/foliot/foliot/client/internal/conn"
	"github.com/foliot/foliot/internal/wire"
)

// Live describes the work of a server at one moment. A namespace's own token
// sees only the queues and destinations of its namespace, and zero for the
// rest.
type Live struct {
	Now          time.Time     // the server's clock at the reply
	At           time.Time     // time of the sample, at most a second ago
	Running      int           // attempts under way, in all namespaces
	Slots        int           // highest number of attempts under way
	Late         Lateness      // of the server, over the last minute
	Waited       Lateness      // how long receivers, limits, pauses and suspensions delayed the same attempts
	Attempts     AttemptTotals // since the server started
	Suspended    []string      // namespaces that are suspended: none of their tasks start
	Queues       []LiveQueue   // queues with running or overdue tasks
	Destinations []LiveDestination
}

// Lateness describes a delay of attempts. That of the server counts from the due
// time, or from the end of the last reason that held the attempt back.
type Lateness struct {
	Count              uint64
	P50, P90, P99, Max time.Duration
}

// AttemptTotals counts the outcomes of attempts, and dead tasks.
type AttemptTotals struct {
	Delivered, Failed uint64
	Snoozed           uint64 // the receiver asked for a later attempt
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
	LimitedBy        string        // the reason for the wait: "pause", "rate", "concurrency", "runner" …; empty: none
}

// LiveDestination describes the attempts of a namespace to one destination.
type LiveDestination struct {
	Namespace, Destination string // host:port, or kind/ and the name of a kind
	Running, Overdue       int
	Oldest                 time.Duration
	Breaker                string    // "closed", "open" or "half-open"
	OpenUntil              time.Time // when an open breaker lets a few attempts through
}

// Live returns the current work of the server.
func (a *Client) Live(ctx context.Context) (*Live, error) {
	return conn.Get[Live](ctx, a.conn, "get live data", "/live", nil)
}

func (l Live) MarshalJSON() ([]byte, error) { return encode[wire.Live](l) }

func (l *Live) UnmarshalJSON(data []byte) error { return decode[wire.Live](data, l) }
