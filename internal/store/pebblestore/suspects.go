package pebblestore

import (
	"log/slog"

	"github.com/foliot/foliot/internal/task"
)

// suspects knows, after a stop that was not in order, which tasks may have
// caused it: all that were due by then. Until each of them was claimed and
// settled once, claims are synced before they are answered. Otherwise a task
// that kills the process would do so for ever: its claim dies with the process,
// and the counter that the restart would raise stays 0.
type suspects struct {
	on      bool
	until   task.Millis           // when the store was opened: what is due later is no suspect
	claimed map[task.Key]struct{} // and not yet settled
}

func newSuspects(unclean bool, until task.Millis) suspects {
	return suspects{on: unclean, until: until, claimed: make(map[task.Key]struct{})}
}

// changed follows a task into its attempt and out of it.
func (s *suspects) changed(t *task.Task) {
	if !s.on {
		return
	}
	if t.State == task.Running {
		s.claimed[t.Key()] = struct{}{}
	} else {
		delete(s.claimed, t.Key())
	}
}

// check ends the suspicion when nothing of it is left.
func (s *suspects) check(ls *lanes, log *slog.Logger) {
	if !s.on || len(s.claimed) > 0 || ls.pending(s.until) {
		return
	}
	s.on = false
	log.Info("every task that was due at the last stop has been tried since")
}
