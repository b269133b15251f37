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

	// spaceFresh is for how long the free space that was read is believed.
	spaceFresh = time.Second
)

// reserve knows how full the disk is. It belongs to the committer.
type reserve struct {
	read   time.Time
	space  Space
	unsure bool // the file system does not say: then nothing is refused
	told   bool // that creates are refused
}

// look reads the free space if the last reading is too old: one system call a second.
func (r *reserve) look(s *Store, now time.Time) {
	if !r.read.IsZero() && now.Sub(r.read).Abs() < spaceFresh && !s.config.eagerSpace {
		return
	}
	space, err := s.Space()
	r.read, r.space, r.unsure = now, space, err != nil || space.Total == 0
	full := r.short(1)
	if full != r.told {
		r.told = full
		if full {
			s.config.Logger.Error("the disk is nearly full: refusing new tasks until there is room", "free_bytes", space.Free, "reserve_bytes", r.space.Reserve())
		} else {
			s.config.Logger.Info("the disk has room again: accepting new tasks", "free_bytes", space.Free)
		}
	}
}

// short reports whether less than one part in n of the reserve is free.
func (r *reserve) short(n int64) bool { return !r.unsure && int64(r.space.Free) < r.space.Reserve()/n }

// room refuses steps that the disk has no room for. Steps that make tasks may not use the reserve;
// other changes, which leave audit entries, may use half of it; steps that end tasks may
// use all. Errors: task.ErrFull.
func (c *committer) room(st *step, old *task.Task, result task.Result) error {
	c.reserve.look(c.Store, time.Now())
	if !c.reserve.short(1) {
		return nil
	}
	more := result.Spawned != nil || pends(result.Task) && !pends(old)
	if !more && (st.kind != change || ends(st.transition) || !c.reserve.short(2)) {
		return nil
	}
	return fmt.Errorf("%w: the disk has %d bytes left: free some space or enlarge the disk", task.ErrFull, c.reserve.space.Free)
}

// pends reports whether t has an attempt before it or under way.
func pends(t *task.Task) bool {
	return t != nil && (t.State == task.Scheduled || t.State == task.Running)
}

// ends reports whether a change only makes less.
func ends(t transition) bool {
	switch t.(type) {
	case task.Cancel, task.RemoveSchedule, task.PauseSchedule:
		return true
	}
	return false
}
