package redisstore

import (
	"fmt"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// applyOutcome applies the outcome of st's item, and returns the entries that
// it added to lanes.
func (s *Store) applyOutcome(r *request, st *step, o redisconn.Outcome, at task.Millis) []task.Entry {
	if o.Status == redisconn.Applied || o.Status == redisconn.AlreadyApplied {
		return s.kept(st)
	}
	s.unadmit(st)
	switch o.Status {
	case redisconn.NotYetDue:
		if st.Kind.NeedsBody() && st.result.Err == nil {
			st.answer(task.Result{}, task.ErrNotDue)
		} else {
			st.answer(task.Result{}, nil)
		}
	case redisconn.NotOwner:
		st.answer(task.Result{}, task.ErrLaneChanged)
	case redisconn.Full:
		st.answer(task.Result{}, fmt.Errorf("%w: Redis has no memory left", task.ErrFull))
	case redisconn.ClockSkew:
		r.now = at
		st.certainty = unknown
	case redisconn.StaleSettings: // applied again with newer settings: see passFences
	default:
		s.claimed.drop(st.Key)
		old, err := records.Parse(st.Key, o.Value)
		if err != nil {
			st.answer(task.Result{}, err)
			return nil
		}
		if o.Resent && st.made(old.Task) {
			return s.kept(st)
		}
		st.old, st.certainty, st.fromPut = old, seen, true
		if st.Kind.NeedsBody() {
			st.certainty = unknown // its body may have changed too
		}
	}
	return nil
}

// made reports whether t is the task that st created, even if other calls have
// changed it since. Ids are unique, so the same id proves it.
func (st *step) made(t *task.Task) bool {
	made, before := st.result.Task, st.old.Task
	return t != nil && made != nil && t.ID == made.ID && (before == nil || before.ID != t.ID)
}

// unadmit stops counting st as under way.
func (s *Store) unadmit(st *step) {
	if st.admitted {
		s.quotas.endUnderWay(st.old.Task, st.result.Task)
		st.admitted = false
	}
}

// unspawn stops counting the tasks that fires create as under way: each is
// counted by now, or was not created.
func (s *Store) unspawn(steps []*step) {
	for _, st := range steps {
		if st.spawns != nil {
			s.quotas.endUnderWay(nil, st.spawns)
			st.spawns = nil
		}
	}
}

// kept records that st's item was applied.
func (s *Store) kept(st *step) []task.Entry {
	t, old := st.result.Task, st.old.Task
	st.put = true
	s.quotas.commit(st.Key.Namespace, old, t, st.admitted)
	st.admitted = false
	if t != nil && t.State == task.Running && st.Kind != store.Change {
		after := st.after
		after.Task = t.WithoutBody()
		s.claimed.set(st.Key, after)
	} else {
		s.claimed.drop(st.Key)
	}
	st.answer(s.withBody(st), st.result.Err)
	if e, ok := task.Notice(old, t); ok {
		return []task.Entry{e}
	}
	if t == nil || t.State != task.Scheduled || old != nil && old.State == task.Scheduled && old.Entry() == t.Entry() {
		return nil
	}
	return []task.Entry{t.Entry()}
}

// withBody returns the result of st, for a claim with the body of its task.
func (s *Store) withBody(st *step) task.Result {
	r := st.result.Result
	if st.Kind == store.Claim && r.Task != nil && st.result.Err == nil {
		t := *r.Task
		t.Request.Body = st.body
		r.Task = &t
	}
	return r
}
