package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
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
func (c *Client) Live(ctx context.Context) (*Live, error) {
	v := new(Live)
	_, err := c.conn.do(ctx, &call{op: "ask what goes on", method: http.MethodGet, path: "/live", repeatable: true, into: v})
	return orNil(v, err)
}

// Egress is whether tasks may call a URL, as one server sees it.
type Egress struct {
	URL, Scheme, Host string
	Port              uint16
	Open              bool            // one open address is enough
	Problem           string          // why there is no address; empty: there are some
	Addresses         []EgressAddress // the addresses of the host, as the server resolves it
}

// EgressAddress is the verdict on one address.
type EgressAddress struct {
	Address string
	Open    bool
	Reason  string // why, in words
	Opener  string // the entry of --egress-allow that opens it, or that would open it; may be empty
}

// Egress returns whether tasks may call a URL, by the egress policy of the server that answers. The server resolves the host, and
// connects to nothing. It takes an operator's token.
func (c *Client) Egress(ctx context.Context, rawURL string) (*Egress, error) {
	v := new(Egress)
	_, err := c.conn.do(ctx, &call{op: "ask for the egress policy", method: http.MethodGet, path: "/egress", query: url.Values{"url": {rawURL}}, repeatable: true, into: v})
	return orNil(v, err)
}

// Backup writes a backup of all there is, as it is at one moment, for `foliot restore`: a tar archive. It takes an operator's token of scope admin.
// The context alone bounds it. It is not repeated by itself: what w got of one that broke off is no backup.
func (c *Client) Backup(ctx context.Context, w io.Writer) (n int64, err error) {
	const op = "take a backup"
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := c.conn.send(ctx, &call{op: op, method: http.MethodGet, path: "/backup"})
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	into := &remembering{w: w}
	n, err = io.Copy(into, resp.Body)
	switch {
	case into.err != nil:
		return n, fmt.Errorf("%s: %w", op, into.err)
	case err != nil:
		return n, c.conn.noReply(&call{op: op}, fmt.Errorf("it broke off after %d bytes: %w", n, errors.Join(err, ctx.Err())))
	}
	return n, nil
}

// remembering tells a writer's error from a reader's.
type remembering struct {
	w   io.Writer
	err error
}

func (r *remembering) Write(p []byte) (n int, err error) {
	n, err = r.w.Write(p)
	r.err = err
	return n, err
}
