package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/foliot/foliot/client/internal/conn"
	"github.com/foliot/foliot/internal/wire"
)

// Queues manages the queues of the client's namespace.
type Queues struct{ conn *connection }

// QueueSettings are the limits, defaults and retention of a queue, in which a
// zero field is not set.
type QueueSettings struct {
	Rate           float64 // attempts started per second; 0.1: one in ten seconds
	Burst          int     // attempts started at once after a pause. Default: Rate, at least one
	Concurrency    int     // highest number of attempts under way
	PerDestination int     // and of those to one host and port

	// Defaults for tasks that do not set these fields.
	Retry       Retry
	Timeout     time.Duration
	ExpireAfter Duration
	OnDead      string // a URL

	KeepFinished time.Duration // time to keep finished tasks. Default: the server's
	KeepDead     time.Duration // time to keep dead tasks. Default: the server's
	KeepBodies   bool          // finished tasks keep their bodies as long, so that Retry can send them again

	ManagedBy string // the owner for foliot apply --prune. A Put without it keeps the present owner
}

// Queue is a queue as the server returns it; its Version is 0 if its settings
// were never set.
type Queue struct {
	QueueSettings

	Name        string
	Paused      bool      // no attempt starts, except of tasks that are run by hand
	PausedUntil time.Time // when it resumes by itself; zero: only by Resume
	Purging     bool      // a purge is under way: no attempt starts until it is done
	Version     uint64    // counts changes of the settings
	CreatedAt   time.Time // zero: the settings were never set
	Counts      Counts
	// Unconfirmed has the nodes that had not applied a change two seconds after
	// it. They claim no task before they have, but may start tasks that they
	// claimed before the change. Repeat the call to see if they have.
	Unconfirmed []string

	etag string
}

// ETag returns the entity tag for IfMatch, empty for a queue of a list, and for
// one without settings.
func (q *Queue) ETag() string { return q.etag }

// Counts are numbers of tasks by state.
type Counts struct {
	Scheduled int64 // including held tasks
	Running   int64
	Delivered int64
	Cancelled int64
	Expired   int64
	Dead      int64
	Bytes     int64 // bytes of the stored bodies
}

// Put replaces a queue's limits, defaults and retention, while a pause or purge
// goes on. Limits and retention apply at once, but defaults only to tasks that
// are created from now on. Errors: ErrPrecondition, and an Error with the
// invalid field. Options: IfMatch, IfNoneMatch.
func (qs Queues) Put(ctx context.Context, name string, s QueueSettings, opts ...CallOption) (*Queue, error) {
	return qs.one(ctx, "put queue", name, &conn.Call{Method: http.MethodPut, Send: s, Takes: "IfMatch IfNoneMatch", Options: given(opts), Repeatable: !conn.Conditional(given(opts))})
}

// Get returns a queue. Errors: ErrNotFound, if the queue has neither settings
// nor tasks.
func (qs Queues) Get(ctx context.Context, name string) (*Queue, error) {
	return qs.one(ctx, "get queue", name, &conn.Call{Method: http.MethodGet, Repeatable: true})
}

// List returns the queues with settings or tasks, by name. An error is the last
// item.
func (qs Queues) List(ctx context.Context) iter.Seq2[*Queue, error] {
	return conn.Pages[Queue](ctx, qs.conn, "list queues", "/queues", "queues", conn.Params{})
}

// Delete deletes the settings of a queue and returns the rest of it. Its tasks
// stay, with the server's defaults, and a paused queue resumes. Errors:
// ErrNotFound if there are no settings, ErrPrecondition, ErrConflict while a
// purge is under way. Options: IfMatch.
func (qs Queues) Delete(ctx context.Context, name string, opts ...CallOption) (*Queue, error) {
	return qs.one(ctx, "delete queue", name, &conn.Call{Method: http.MethodDelete, Takes: "IfMatch", Options: given(opts)})
}

// Pause stops a queue, so no attempt starts, except of tasks that are run by
// hand; attempts under way go on, and the tasks are kept. The pause lasts until
// Resume, or until the time of the option. Options: Until, For.
func (qs Queues) Pause(ctx context.Context, name string, opts ...CallOption) (*Queue, error) {
	var p wire.PauseInput
	for _, o := range given(opts) {
		switch o.Name {
		case "Until":
			p.Until = o.Value
		case "For":
			p.For = o.Value
		}
	}
	return qs.one(ctx, "pause queue", name, &conn.Call{Method: http.MethodPost, Path: "/pause", Send: p, Takes: "Until For", Options: given(opts), Repeatable: true})
}

// Resume ends a pause, so tasks that became due start at once, within the
// limits.
func (qs Queues) Resume(ctx context.Context, name string) (*Queue, error) {
	return qs.one(ctx, "resume queue", name, &conn.Call{Method: http.MethodPost, Path: "/resume", Repeatable: true})
}

// Purge cancels all unfinished tasks that are in a queue now, in the background. It
// returns after two seconds; the purge then survives a restart, and tasks that
// enter the queue after that stay. Queue.Purging reports whether the purge is under
// way. The client does not repeat a purge, because a repeat would also cancel later
// tasks.
//
// With Expect it purges only a queue with exactly that number of unfinished tasks.
// A task that enters the queue between the count and the reply may be cancelled
// too. Errors: ErrCount. Options: Expect.
func (qs Queues) Purge(ctx context.Context, name string, opts ...CallOption) (*Queue, error) {
	return qs.one(ctx, "purge queue", name, &conn.Call{Method: http.MethodPost, Path: "/purge", Takes: "Expect", Options: given(opts)})
}

// one sends a call about one queue, with its path after the queue's.
func (qs Queues) one(ctx context.Context, verb, name string, c *conn.Call) (*Queue, error) {
	q, got, err := conn.Named[Queue](ctx, qs.conn, verb, "/queues/", name, c)
	if err == nil {
		q.etag = got.Header.Get("ETag")
	}
	return q, err
}

func (s QueueSettings) MarshalJSON() ([]byte, error) { return encode[wire.QueueInput](s) }

func (s *QueueSettings) UnmarshalJSON(data []byte) error { return decode[wire.QueueInput](data, s) }

func (q Queue) MarshalJSON() ([]byte, error) { return encode[wire.Queue](q) }

func (q *Queue) UnmarshalJSON(data []byte) error { return decode[wire.Queue](data, q) }
