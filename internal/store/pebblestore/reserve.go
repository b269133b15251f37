package pebblestore

import (
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/task"
)

const (
	// See Space.Reserve.
	reservePart       = 10
	reserveMost int64 = 10 << 30

	// spaceFresh is how long a reading of the free space is used.
	spaceFresh = time.Second
)

// reserve tracks how full the disk is. Only the committer uses it.
type reserve struct {
	read   time.Time
	space  Space // zero if the file system does not report it: then nothing is refused
	logged bool  // it was logged that creates are refused
}

// refresh reads the free space if the last reading is too old: one system call
// a second.
func (r *reserve) refresh(s *Store, now time.Time) {
	if !r.read.IsZero() && now.Sub(r.read).Abs() < spaceFresh && !s.config.eagerSpace {
		return
	}
	space, _ := s.Space() // zero after an error
	r.read, r.space = now, space
	full := space.short(1)
	if full != r.logged {
		r.logged = full
		if full {
			s.config.Logger.Error("the disk is nearly full: new tasks are refused until there is room", "free_bytes", space.Free, "reserve_bytes", space.Reserve())
		} else {
			s.config.Logger.Info("the disk has room again: new tasks are accepted", "free_bytes", space.Free)
		}
	}
}

// room refuses steps for which the disk has no room. Steps that create tasks
// must not use the reserve. Other changes, which write audit entries, can use
// half of it. Steps that end tasks can use all of it. Errors: task.ErrFull.
func (c *committer) room(st *step, old *task.Task, result task.Result) error {
	c.reserve.refresh(c.Store, time.Now())
	if !c.reserve.space.short(1) {
		return nil
	}
	more := result.Spawned != nil || pends(result.Task) && !pends(old)
	if !more && (st.kind != change || ends(st.transition) || !c.reserve.space.short(2)) {
		return nil
	}
	return fmt.Errorf("%w: the disk has %d bytes left: free some space or enlarge the disk", task.ErrFull, c.reserve.space.Free)
}

// pends reports whether t waits for an attempt or has one under way.
func pends(t *task.Task) bool {
	return t != nil && (t.State == task.Scheduled || t.State == task.Running)
}

// ends reports whether a change only frees space.
func ends(t task.Transition) bool {
	switch t.(type) {
	case task.Cancel, task.RemoveSchedule, task.PauseSchedule:
		return true
	}
	return false
}
