package pebblestore

import (
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/store/kernel"
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

// Room implements kernel.Facts. New and revived tasks must not use the reserve.
// Other changes can use half of it. Steps that end tasks can use all of it.
func (d *deciding) Room(need kernel.Need) error {
	d.reserve.refresh(d.Store, time.Now())
	space := d.reserve.space
	if !space.short(1) || need == kernel.MoreBytes && !space.short(2) {
		return nil
	}
	return fmt.Errorf("%w: the disk has %d bytes left: free some space or enlarge the disk", task.ErrFull, space.Free)
}
