package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// Queues are the queues of the client's namespace.
type Queues struct{ conn *conn }

// QueueSettings is what is decided of a queue. Zero fields decide nothing.
type QueueSettings struct {
	Rate           float64 // attempts that may start in a second; 0.1: one in ten seconds
	Burst          int     // attempts that may start at once after a silence. Default: as many as a second brings, at least one
	Concurrency    int     // attempts that may be under way at once
	PerDestination int     // and of them to one host and port

	// Defaults for tasks whose creator does not say.
	Retry       Retry
	Timeout     time.Duration
	ExpireAfter Duration
	OnDead      string // a URL

	KeepFinished time.Duration // how long finished tasks are kept for reading. Default: the server's
	KeepDead     time.Duration // how long dead tasks are kept. Default: the server's
	KeepBodies   bool          // finished tasks keep their bodies as long, so that Retry can send them again
}

// Queue is a queue as the server shows it. One of which nothing was decided has version 0.
type Queue struct {
	QueueSettings

	Name        string
	Paused      bool      // nothing of it starts, but what is run by hand
	PausedUntil time.Time // when it resumes by itself; zero: when it is told to
	Purging     bool      // a purge is under way: nothing starts until it is done
	Version     uint64    // counts what was decided of it
	CreatedAt   time.Time // zero: nothing was decided of it
	Counts      Counts

	etag string
}

// ETag returns the entity tag that IfMatch takes. It is empty for a queue of a list, and for one of which nothing was decided.
func (q *Queue) ETag() string { return q.etag }

// Counts is how many tasks there are, by state.
type Counts struct {
	Scheduled int64 // the held ones among them
	Running   int64
	Delivered int64
	Cancelled int64
	Expired   int64
	Dead      int64
	Bytes     int64 // of the bodies that are kept
}

// Put decides a queue's limits, defaults and retention: all of them, as they were not before. Pause and purge stay. Limits and retention
// count at once, defaults for tasks that are created from now on. Errors: ErrPrecondition, and an Error with the field that is wrong.
func (qs Queues) Put(ctx context.Context, name string, s QueueSettings, conds ...Condition) (*Queue, error) {
	body, err := s.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return qs.one(ctx, "put queue", name, &call{method: http.MethodPut, body: body, header: headerOf(conds), repeatable: len(conds) == 0})
}

// Get returns a queue. Errors: ErrNotFound, where nothing was decided of it and nothing is in it.
func (qs Queues) Get(ctx context.Context, name string) (*Queue, error) {
	return qs.one(ctx, "get queue", name, &call{method: http.MethodGet, repeatable: true})
}

// List returns the queues of which something was decided and those that have tasks, in the order of their names. An error is the last
// thing it yields.
func (qs Queues) List(ctx context.Context) iter.Seq2[*Queue, error] {
	return pages[Queue, queuePage](ctx, qs.conn, "list queues", "/queues", url.Values{})
}

type queuePage struct {
	Queues []*Queue `json:"queues"`
	cursorField
}

func (p *queuePage) items() []*Queue { return p.Queues }

// Delete forgets what was decided of a queue; it returns what is left of it. Its tasks stay, with the server's defaults, and a paused queue
// goes on. Errors: ErrNotFound where nothing was decided, ErrPrecondition, ErrConflict while a purge is under way.
func (qs Queues) Delete(ctx context.Context, name string, conds ...Condition) (*Queue, error) {
	return qs.one(ctx, "delete queue", name, &call{method: http.MethodDelete, header: headerOf(conds)})
}

// Pause lets nothing of a queue start any more, but what is run by hand. What is under way goes on; its tasks are kept.
func (qs Queues) Pause(ctx context.Context, name string) (*Queue, error) {
	return qs.pause(ctx, name, wire.PauseInput{})
}

// PauseFor is Pause for a queue that resumes by itself, that long after the server's answer.
func (qs Queues) PauseFor(ctx context.Context, name string, d time.Duration) (*Queue, error) {
	return qs.pause(ctx, name, wire.PauseInput{For: d.String()})
}

// PauseUntil is Pause for a queue that resumes by itself, then.
func (qs Queues) PauseUntil(ctx context.Context, name string, t time.Time) (*Queue, error) {
	return qs.pause(ctx, name, wire.PauseInput{Until: instant(t)})
}

func (qs Queues) pause(ctx context.Context, name string, p wire.PauseInput) (*Queue, error) {
	body, err := marshal(p)
	if err != nil {
		return nil, err
	}
	return qs.one(ctx, "pause queue", name, &call{method: http.MethodPost, path: "/pause", body: body, repeatable: true})
}

// Resume lets a queue go on: what came due meanwhile starts at once, within its limits.
func (qs Queues) Resume(ctx context.Context, name string) (*Queue, error) {
	return qs.one(ctx, "resume queue", name, &call{method: http.MethodPost, path: "/resume", repeatable: true})
}

// Purge cancels everything of a queue that was created until now and is not finished, in the background: when it returns this is durable, and
// will be done also after a restart. Queue.Purging says whether it is. (It is not repeated by itself: what was created between two tries would
// be cancelled too.)
func (qs Queues) Purge(ctx context.Context, name string) (*Queue, error) {
	return qs.one(ctx, "purge queue", name, &call{method: http.MethodPost, path: "/purge"})
}

// PurgeExactly is Purge if the queue has exactly n unfinished tasks. Otherwise nothing is cancelled: it returns ErrCount, and the Error's Count is
// how many the queue has. A task that comes into the queue between this count and the reply is cancelled too. At most a million.
func (qs Queues) PurgeExactly(ctx context.Context, name string, n int) (*Queue, error) {
	query := url.Values{"expect": {strconv.Itoa(n)}}
	return qs.one(ctx, "purge queue", name, &call{method: http.MethodPost, path: "/purge", query: query})
}

// one sends a call that is about one queue; its path is what comes after the queue's.
func (qs Queues) one(ctx context.Context, verb, name string, c *call) (*Queue, error) {
	q := new(Queue)
	header, err := qs.conn.named(ctx, verb, "/queues/", name, c, q)
	if err != nil {
		return nil, err
	}
	q.etag = header.Get("ETag")
	return q, nil
}
