package pebblestore

import (
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/bytesize"
)

// Space is the room on a file system.
type Space struct {
	Free  uint64 // bytes that this process can still use
	Total uint64
}

// Reserve returns how many bytes a store keeps free for deliveries, settlements,
// cancels and compactions, because a full disk would stop it: a tenth, and at most 10
// GiB. With less free space it accepts no new tasks.
func (s Space) Reserve() int64 { return min(int64(s.Total/reservePart), reserveMost) }

// Accepts reports whether a store with this space accepts new tasks.
func (s Space) Accepts() bool { return !s.short(1) }

// short reports whether less than 1/n of the reserve is free, but there is no reserve
// if the file system reports no size.
func (s Space) short(n int64) bool { return int64(s.Free) < s.Reserve()/n }

// String describes the space, and the remedy if it is too small.
func (s Space) String() string {
	remedy := ""
	if !s.Accepts() {
		remedy = ": free some space, or enlarge the disk"
	}
	return fmt.Sprintf("%s free of %s; below %s a server accepts no new tasks%s",
		bytesize.Text(int64(s.Free)), bytesize.Text(int64(s.Total)), bytesize.Text(s.Reserve()), remedy)
}

// Space returns the space of the file system that holds the directory, at the cost of
// one system call.
func (s *Store) Space() (Space, error) { return spaceOf(s.config.FS, s.dir) }

// Size returns the number of bytes that the files of the store use on the disk.
func (s *Store) Size() uint64 { return s.db.Metrics().DiskSpaceUsage() }

// SpaceOf is Space for a directory that no Store has open.
func SpaceOf(dir string) (Space, error) { return spaceOf(vfs.Default, dir) }

func spaceOf(fs vfs.FS, dir string) (Space, error) {
	u, err := fs.GetDiskUsage(dir)
	if err != nil {
		return Space{}, fmt.Errorf("read the free space in %s: %w", dir, err)
	}
	return Space{Free: u.AvailBytes, Total: u.TotalBytes}, nil
}

// memTables bounds the changes in memory, which Pebble keeps in memtables: writes wait
// when the memtables together have the size of so many full ones.
const memTables = 3

// memTableSize returns the default of Config.MemTableSize for a file system with the
// space s, or 32 MiB if err is not nil. A memtable needs its size on the disk twice: in
// its log, and in its table. For full memtables this is at most three quarters of the
// reserve, so they can be written when the store accepts no new tasks. Logs are
// somewhat larger than their memtables, so on a disk below 160 MiB the store can stop.
func memTableSize(s Space, err error) uint64 {
	const least, most = 2 << 20, 32 << 20
	if err != nil || s.Total == 0 {
		return most
	}
	return uint64(min(max(s.Reserve()*3/4/(2*memTables), least), most))
}

const (
	// See Space.Reserve.
	reservePart       = 10
	reserveMost int64 = 10 << 30

	// spaceFresh is how long a reading of the free space is used.
	spaceFresh = time.Second
)

// reserve tracks how full the disk is, and only the committer uses it.
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
