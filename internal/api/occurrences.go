package api

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"

	"github.com/foliot/foliot/internal/task"
)

// A trigger and a backfill create ordinary tasks. The names of these tasks derive
// from the request, so a repeated request finds the tasks of the first one.

func (s *Server) triggerSchedule(w http.ResponseWriter, r *request) error {
	key, err := idempotencyKey(r.Header)
	if err != nil {
		return err
	}
	t, stale, err := s.condition(r)
	if err != nil {
		return err
	}
	at := s.now()
	spec, idem := t.Template(triggeredName(t, key, at), task.NewID(at), at), idempotency(key, &task.Spec{}, schedulePath+"/trigger", t.ScheduleName())
	spec.Trace = s.trace(r.Request)
	c := call{change: task.Create{Spec: spec, Idempotency: idem}, status: http.StatusCreated}
	if stale != nil {
		if c, err = unlessRepeated(http.StatusCreated, spec.Key, idem, stale); err != nil {
			return err
		}
	}
	return s.call(w, r, at, c)
}

// condition returns the schedule in the path of r; stale is the error to return
// if its version is not the one that r requires.
func (s *Server) condition(r *request) (t *task.Task, stale, err error) {
	cond, err := precondition(r.Header)
	if err != nil {
		return nil, nil, err
	}
	if t, err = s.schedule(r); err != nil {
		return nil, nil, err
	}
	return t, ofSchedule(r, cond.Check(t)), nil
}

// triggeredName returns the name of the task of a trigger. With a key the name
// is always the same, until the schedule is created again.
func triggeredName(t *task.Task, key string, now task.Millis) string {
	var mark [8]byte
	if key == "" {
		rand.Read(mark[:]) // never fails
	} else {
		now = t.CreatedAt
		copy(mark[:], task.Digest([]byte(key)))
	}
	return task.OccurrenceName(t.ScheduleName(), now) + ".t" + hex.EncodeToString(mark[:])
}
