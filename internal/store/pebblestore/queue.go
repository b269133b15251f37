package pebblestore

import (
	"context"
	"sync"

	"github.com/foliot/foliot/internal/history"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// request is one call that changes the store, on its way through committer and
// syncer. It belongs to the caller until it is queued, then to the committer
// until done is closed, then to the caller again.
type request struct {
	ctx     context.Context // a call is not begun if its context has ended
	now     task.Millis
	who     settings.Actor // the author of the changes
	steps   []store.Step
	replies []store.Reply // the replies to the steps applied so far
	urgent  bool          // a call of dispatch: handled before those of clients

	// Instead of steps.
	edits  []settings.Edit      // settings
	edited []settings.EditReply // the replies to the edits applied so far
	sweep  int                  // if not 0: sweep at most this many records
	swept  int
	scrub  *scrub // begin or end its step
	past   []history.Part

	wait uint64 // the batch that must be synced before the reply
	err  error  // the error of the whole call
	done chan struct{}
}

// queue holds the requests that the committer has not yet taken.
type queue struct {
	mu       sync.Mutex // guards everything below
	urgent   []*request
	ordinary []*request
	closed   bool
	wake     chan struct{} // buffered: holds a token while there may be a request
}

// push queues r. Errors: task.ErrClosed.
func (q *queue) push(r *request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return task.ErrClosed
	}
	if r.urgent {
		q.urgent = append(q.urgent, r)
	} else {
		q.ordinary = append(q.ordinary, r)
	}
	q.signalLocked()
	return nil
}

// take removes and returns the next request, or nil if there is none, and false
// if no more requests will come.
func (q *queue) take(urgentOnly bool) (r *request, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	from := &q.urgent
	if len(q.urgent) == 0 && !urgentOnly {
		from = &q.ordinary
	}
	if len(*from) == 0 {
		return nil, !q.closed
	}
	r, (*from)[0] = (*from)[0], nil
	*from = (*from)[1:]
	if len(*from) == 0 {
		*from = nil // frees the array behind the slice
	}
	return r, true
}

// close refuses further requests, while queued ones are still taken.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signalLocked()
}

func (q *queue) signalLocked() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
