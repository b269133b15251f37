package redisstore

import (
	"fmt"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// applyOutcome applies the outcome of st's item, and returns the entries that
// it added to lanes.
func (m *medium) applyOutcome(st *step, o redisconn.Outcome, at task.Millis) []task.Entry {
	ending, current := kernel.ReadAgain, records.Record{}
	switch o.Status {
	case redisconn.Applied, redisconn.AlreadyApplied:
		ending = kernel.Written
	case redisconn.NotYetDue:
		ending = kernel.NotYetDue
	case redisconn.NotOwner:
		ending = kernel.NotOwner
	case redisconn.StaleSettings: // with newer settings: see passFences
		ending = kernel.Again
	case redisconn.ClockSkew:
		m.now = at
	case redisconn.Full:
		m.unadmit(st)
		st.Answer(task.Result{}, fmt.Errorf("%w: Redis has no memory left", task.ErrFull))
		return nil
	case redisconn.Changed:
		m.claimed.Drop(st.Key)
		ending = kernel.Changed
		var err error
		if current, err = records.Parse(st.Key, o.Value); err != nil {
			m.unadmit(st)
			st.Answer(task.Result{}, err)
			return nil
		}
	}
	old := st.Old.Task
	if st.End(ending, current, o.Resent) {
		return m.kept(st)
	}
	m.unadmitFrom(st, old)
	return nil
}

// unadmit stops counting st as under way.
func (s *Store) unadmit(st *step) { s.unadmitFrom(st, st.Old.Task) }

// unadmitFrom is unadmit for a step that was decided by old.
func (s *Store) unadmitFrom(st *step, old *task.Task) {
	if st.Extra.admitted {
		s.quotas.EndUnderWay(old, st.Decision.Task)
		st.Extra.admitted = false
	}
}

// unspawn stops counting the tasks that fires create as under way, because each
// is counted by now, or was not created.
func (s *Store) unspawn(steps []*step) {
	for _, st := range steps {
		if st.Extra.spawns != nil {
			s.quotas.EndUnderWay(nil, st.Extra.spawns)
			st.Extra.spawns = nil
		}
	}
}

// kept records that st's item was applied.
func (s *Store) kept(st *step) []task.Entry {
	t, old := st.Decision.Task, st.Old.Task
	st.Put = true
	s.quotas.Commit(st.Key.Namespace, old, t, st.Extra.admitted)
	st.Extra.admitted = false
	if t != nil && t.State == task.Running && st.Kind != store.Change {
		after := st.Extra.after
		after.Task = t.WithoutBody()
		s.claimed.Set(st.Key, after)
	} else {
		s.claimed.Drop(st.Key)
	}
	st.Answer(s.withBody(st), st.Decision.Err)
	if e, ok := task.Hint(old, t); ok {
		return []task.Entry{e}
	}
	return nil
}

// withBody returns the result of st, for a claim with the body of its task.
func (s *Store) withBody(st *step) task.Result {
	r := st.Decision.Result
	if st.Kind == store.Claim && r.Task != nil && st.Decision.Err == nil {
		t := *r.Task
		t.Request.Body = st.Body
		r.Task = &t
	}
	return r
}
