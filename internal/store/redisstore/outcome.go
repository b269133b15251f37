package redisstore

import (
	"fmt"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// applyOutcome applies the outcome of st's item, and returns the entries that it added to
// lanes. created is set if the task that it spawns was created too.
func (m *medium) applyOutcome(st *step, o redisconn.Outcome, created bool, at task.Millis) []task.Entry {
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
		m.At = at
	case redisconn.Full:
		st.Answer(task.Result{}, fmt.Errorf("%w: Redis has no memory left", task.ErrFull))
		return nil
	case redisconn.Changed:
		m.claimed.Drop(st.Key)
		ending = kernel.Changed
		var err error
		if current, err = records.Parse(st.Key, o.Value); err != nil {
			st.Answer(task.Result{}, err)
			return nil
		}
	}
	if !st.End(ending, current, o.Resent) {
		return nil
	}
	if t := st.Decision.Task; t != nil && t.State == task.Running && st.Kind != store.Change {
		after := st.Extra.after
		after.Task = t.WithoutBody()
		m.claimed.Set(st.Key, after)
	} else {
		m.claimed.Drop(st.Key)
	}
	return st.Kept(&m.Call, created)
}
