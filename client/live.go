package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"time"

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
func (a Admin) Live(ctx context.Context) (*Live, error) {
	return get[Live](ctx, a.conn, "get live data", "/live", nil)
}

// WatchLive returns a sample of the live data about once a second, until ctx
// ends. If the connection ends, or is silent for the Timeout of Options,
// WatchLive connects again, as often and as soon as [RetryPolicy] allows. If
// this fails, it returns an error as its last value. The caller can then call
// WatchLive again. While the caller uses a sample, later samples wait.
func (a Admin) WatchLive(ctx context.Context) iter.Seq2[*Live, error] {
	return func(yield func(*Live, error) bool) {
		began, try := time.Now(), 0
		for {
			received, err := a.streamLive(ctx, yield)
			if err == nil {
				return
			}
			if received {
				began, try = time.Now(), 0
			}
			try++
			pause, again := a.conn.retry.next(try, time.Since(began), true, err)
			if !again || ctx.Err() != nil {
				yield(nil, err)
				return
			}
			if ended := sleep(ctx, pause); ended != nil {
				yield(nil, fmt.Errorf("%w (%w while waiting to connect again)", err, ended))
				return
			}
		}
	}
}

var (
	watchLive = &call{op: "watch live data", method: http.MethodGet, path: "/live", header: http.Header{"Accept": {eventStreamType}}}

	errSilent = errors.New("the server sent nothing for too long")
	errEnded  = errors.New("the stream ended")
)

// streamLive passes the samples of one connection to yield, and returns nil if
// yield returned false.
func (a Admin) streamLive(ctx context.Context, yield func(*Live, error) bool) (received bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(a.conn.timeout, func() { cancel(errSilent) })
	defer silence.Stop()
	resp, err := a.conn.send(ctx, watchLive)
	if err != nil {
		return false, a.conn.silence(ctx, err)
	}
	defer resp.Body.Close()
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media != eventStreamType {
		return false, a.conn.foreign(watchLive, resp, errors.New("the reply is not a stream of events"))
	}
	for events := newEventReader(resp.Body, maxEvent); ; received = true {
		live, err := a.conn.nextLive(events, resp)
		if err != nil {
			return received, a.conn.silence(ctx, err)
		}
		silence.Stop()
		if !yield(live, nil) {
			return true, nil
		}
		silence.Reset(a.conn.timeout)
	}
}

// nextLive returns the next sample of a stream, and skips events of other
// names, which are for later versions.
func (cn *conn) nextLive(events *eventReader, resp *http.Response) (*Live, error) {
	for {
		name, data, err := events.next()
		live, p := new(Live), wire.Problem{}
		switch {
		case errors.Is(err, errLongEvent):
			return nil, cn.foreign(watchLive, resp, err)
		case errors.Is(err, io.EOF):
			return nil, cn.noReply(watchLive, errEnded)
		case err != nil:
			return nil, cn.noReply(watchLive, err)
		case name == "message":
			if err := json.Unmarshal(data, live); err != nil {
				return nil, cn.foreign(watchLive, resp, err)
			}
			return live, nil
		case name == "problem":
			if err := json.Unmarshal(data, &p); err != nil {
				return nil, cn.foreign(watchLive, resp, err)
			}
			e := problemError(p)
			e.Op = watchLive.op
			return nil, e
		}
	}
}

// silence returns errSilent if the silence timer ended the connection, and
// otherwise err.
func (cn *conn) silence(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return cn.noReply(watchLive, errSilent)
	}
	return err
}
