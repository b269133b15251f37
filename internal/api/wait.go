package api

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/api/admission"
	"github.com/foliot/foliot/internal/task"
)

// getLater replies when the task is finished or dead, or when the wait ends.
func (s *Server) getLater(w http.ResponseWriter, r *request, key task.Key) error {
	wait := r.query.span(waitParam, 0)
	if wait < 0 || wait > maxWait {
		return refuse("out_of_range", "wait", "must be between 0s and 5m")
	}
	allow(w, r.Request, wait)
	t, err := s.store.Get(r.Context(), key)
	if err == nil && wait > 0 && !settled(t) {
		leave, ok := s.gate.Poll(r.namespace)
		if !ok {
			return refuse("unavailable", "wait", "too many requests wait for tasks: retry later, or without wait")
		}
		defer leave()
		t, err = s.await(r, key, wait)
	}
	if err != nil {
		return err
	}
	r.settings = s.store.Standing().Settings // a pause may have changed them
	return s.replyRecord(w, r, http.StatusOK, s.show(r, t), t.ETag())
}

// settled reports whether t has reached a state that only a client changes.
func settled(t *task.Task) bool { return t.State.Finished() || t.State == task.Dead }

// allow extends the server's deadline for this reply by d, while the deadline
// for reading ends with the request.
func allow(w http.ResponseWriter, r *http.Request, d time.Duration) {
	if most := writeTimeout(r); most > 0 {
		w.(*response).end = time.Now().Add(d + most)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(d + most)) // some writers have no deadline
	}
}

// writeTimeout returns the WriteTimeout of the server of r, 0 for none.
func writeTimeout(r *http.Request) time.Duration {
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
		return max(0, server.WriteTimeout)
	}
	return 0
}

// The intervals at which a waiting poll reads its task. Notify usually wakes it
// earlier, but only reading is reliable.
const (
	soonest = 50 * time.Millisecond
	latest  = time.Second
)

// await returns the task when it is finished or dead, or the present task after
// wait or when the server stops. It returns an error if the caller's token is
// revoked, and the request has units only while it reads the task.
func (s *Server) await(r *request, key task.Key, wait time.Duration) (*task.Task, error) {
	ctx := r.Context()
	end := time.After(wait)
	look := time.NewTimer(latest)
	defer look.Stop()
	over, pause := false, soonest
	for {
		changed, leave := s.waiting.join(key) // before the read, so that no change is missed
		var t *task.Task
		err := r.out.Return(ctx)
		if err == nil {
			t, err = s.store.Get(ctx, key)
		}
		if err == nil {
			err = s.revalidate(&r.caller)
		}
		if errors.Is(err, admission.ErrBusy) {
			err = refuse("unavailable", "wait", "too many requests of this namespace are running: retry later")
		}
		if err != nil || over || settled(t) {
			leave()
			return t, err
		}
		r.out.Leave()
		// A scheduled task does not change by itself before it is due, and probably
		// does soon after.
		if ahead := t.Due.Time().Sub(s.cfg.Now()); t.State == task.Scheduled && ahead > 0 {
			pause = soonest
			look.Reset(min(ahead+soonest, latest))
		} else {
			look.Reset(pause)
			pause = min(2*pause, latest)
		}
		select {
		case <-changed:
		case <-look.C:
		case <-end:
			over = true
		case <-s.stop:
			over = true
		case <-ctx.Done():
			leave()
			return nil, ctx.Err()
		}
		leave()
	}
}

// waiters records the polls that wait for each task. The zero value is ready.
type waiters struct {
	count atomic.Int64 // waiting polls; written with mu held, read by notify without: if 0, it skips the lock

	mu   sync.Mutex // guards keys and its waiters
	keys map[task.Key]*waiter
}

// waiter is one task with polls that wait for it.
type waiter struct {
	changed chan struct{} // closed by the first notify after the join
	n       int
}

// join returns a channel that the next notify of key closes, and leave, which
// the caller must call when it no longer needs the channel.
func (w *waiters) join(key task.Key) (changed <-chan struct{}, leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys == nil {
		w.keys = map[task.Key]*waiter{}
	}
	me := w.keys[key]
	if me == nil {
		me = &waiter{changed: make(chan struct{})}
		w.keys[key] = me
	}
	me.n++
	w.count.Add(1)
	return me.changed, func() { w.leave(key, me) }
}

func (w *waiters) leave(key task.Key, me *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count.Add(-1)
	if me.n--; me.n == 0 && w.keys[key] == me {
		delete(w.keys, key)
	}
}

func (w *waiters) notify(keys ...task.Key) {
	if w.count.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys {
		if me := w.keys[key]; me != nil {
			close(me.changed)
			delete(w.keys, key) // a later join waits for the next change
		}
	}
}
