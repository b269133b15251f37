package api

import (
	"errors"
	"net/http"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// call is a change of one task that a client requested, by a request of its own or
// as one of a batch.
type call struct {
	change  task.Change
	status  int   // of the reply, unless the effect of the change has another one
	refused error // only with a task.Repeat: the refusal, unless the call repeats an earlier one
}

func (s *Server) createCall(r *request, spec *task.Spec, idem *task.Idempotency, key string, at task.Millis) (call, error) {
	if err := s.finalize(r, spec, key, at); err != nil {
		return unlessRepeated(http.StatusCreated, spec.Key, idem, err)
	}
	return call{change: task.Create{Spec: *spec, Idempotency: idem}, status: http.StatusCreated}, nil
}

// putCall returns the call that creates the task of spec, or replaces the present
// one.
func (s *Server) putCall(r *request, spec *task.Spec, idem *task.Idempotency, cond task.Precondition, at task.Millis) (call, error) {
	if err := s.finalize(r, spec, "", at); err != nil {
		return unlessRepeated(http.StatusOK, spec.Key, idem, err)
	}
	return call{change: task.Replace{Spec: *spec, If: cond, Idempotency: idem}, status: http.StatusOK}, nil
}

// unlessRepeated returns the call for a request that is now invalid, but may repeat
// a valid one: the defaults of its queue may have changed in between. If it is a
// repeat, the reply is the task of the first request. Otherwise the call is refused,
// and without an Idempotency-Key at once.
//
// The store confirms the task, as for every repeat, because the first request may
// have failed for lack of confirmation. So a refused request with a key counts for
// the rate of creates, like a valid repeat.
func unlessRepeated(status int, key task.Key, idem *task.Idempotency, refused error) (call, error) {
	if idem == nil {
		return call{}, refused
	}
	return call{task.Repeat{Key: key, Idempotency: idem}, status, refused}, nil
}

// outcome returns the status of the reply to c, or the reason that c was refused.
func (c *call) outcome(done *store.Reply) (status int, err error) {
	switch err := done.Err; {
	case c.refused != nil && (errors.Is(err, task.ErrNotFound) || errors.Is(err, task.ErrIdempotencyReuse)):
		return 0, c.refused
	case err != nil:
		return 0, err
	case done.Effect == task.Created:
		return http.StatusCreated, nil
	case done.Effect == task.Accepted:
		return http.StatusAccepted, nil
	}
	if c.status == http.StatusCreated { // no reply to a create has it
		done.UnderWay = false
	}
	return c.status, nil
}

func (s *Server) call(w http.ResponseWriter, r *request, at task.Millis, c call) error {
	if wait, err := s.takeRate(r, c.change); err != nil {
		return waitFor(w, wait, err)
	}
	replies, err := s.transit(r, at, []task.Change{c.change})
	if err != nil {
		return err
	}
	status, err := c.outcome(&replies[0])
	if err != nil {
		return err
	}
	return s.replyChange(w, r, status, &replies[0])
}

func (s *Server) apply(r *request, at task.Millis, c task.Change) (task.Result, error) {
	replies, err := s.transit(r, at, []task.Change{c})
	if err != nil {
		return task.Result{}, err
	}
	return replies[0].Result, replies[0].Err
}

// transit makes changes with one call of the store, wakes the polls that wait for
// their tasks, and records them in the audit log.
func (s *Server) transit(r *request, at task.Millis, changes []task.Change) ([]store.Reply, error) {
	if err := s.revalidate(&r.caller); err != nil {
		return nil, err
	}
	replies, err := s.store.Transit(r.Context(), at, store.Changes(changes))
	if err != nil {
		return nil, err
	}
	r.reached(replies)
	var entries settings.Note
	who, replaced := settings.ActorOf(r.Context()), 0
	for i, c := range changes {
		done := &replies[i]
		if done.Err != nil {
			continue
		}
		s.waiting.notify(c.Target())
		if _, replaces := c.(task.Replace); replaces && done.Effect == task.Updated {
			replaced++
		}
		if e, ok := settings.AuditChange(at, who, c, done.Result); ok {
			entries = append(entries, e)
		}
	}
	if replaced > 0 {
		s.changed(r, replaced)
	}
	if len(entries) == 0 {
		return replies, nil
	}
	return replies, s.record(r, entries...)
}
