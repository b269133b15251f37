package pebblestore

import (
	"context"
	"sync"

	"github.com/foliot/foliot/internal/task"
)

// request is one call that changes the store, on its way through committer and
// syncer. It belongs to the caller until it is queued, to the committer until
// it is settled, to whoever reads done afterwards.
type request struct {
	ctx     context.Context // a call that its caller gave up is not begun
	now     task.Millis
	who     task.Actor // for the audit log
	steps   []step
	replies []task.Reply // of the steps carried out so far
	urgent  bool         // dispatch's: taken before those of clients

	// Instead of steps.
	edits  []task.Edit       // settings
	edited []task.EditReply  // of the edits carried out so far
	log    []task.AuditEntry // that belong to no change
	sweep  int               // not 0: at most so many records to be swept
	swept  int
	mend   *mend // what a scrub doubts

	wait uint64 // the batch that must be synced before the answer
	err  error  // the call as a whole
	done chan struct{}
}

// step is one item of a call.
type step struct {
	key        task.Key
	kind       kind
	transition transition
}

// transition is what task.Change, Claim, Extension and Settlement have in common.
type transition interface {
	Apply(now task.Millis, old *task.Task, p task.Policy) (task.Result, error)
}

// kind says what a step is beside its transition.
type kind uint8

const (
	change kind = iota
	claim
	fire
	extension
	settlement
	reap
)

// queue holds the requests that the committer has not taken yet.
type queue struct {
	mu       sync.Mutex // guards everything below
	urgent   []*request
	ordinary []*request
	closed   bool
	wake     chan struct{} // buffered: holds a token while there may be something to take
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

// take removes and returns the next request, nil if there is none; more is
// false when there never will be one again.
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
		*from = nil // lets go of the array that the slice has walked along
	}
	return r, true
}

// close refuses further requests; those that are queued are still taken.
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
