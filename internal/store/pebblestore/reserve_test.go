package pebblestore

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// sized is a disk in memory: a test sets its free space.
type sized struct {
	vfs.FS
	free, total atomic.Uint64
}

func (d *sized) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free.Load(), TotalBytes: d.total.Load()}, nil
}

func TestANearlyFullDiskRefusesOnlyCreates(t *testing.T) {
	disk := &sized{FS: vfs.NewMem()}
	disk.total.Store(1000 << 20)
	disk.free.Store(500 << 20)
	s := open(t, disk, Config{eagerSpace: true})
	mustApply(t, s, []task.Change{eachSecond("nightly"), task.Create{Spec: newSpec("a", benchStart)}, task.Create{Spec: newSpec("b", benchStart)}, task.Create{Spec: newSpec("c", benchStart)}})
	change := func(c task.Change) func() error {
		return func() error { return apply(t.Context(), s, c) }
	}
	patch := func(name string) func() error {
		return change(task.Patch{Key: tasktest.Key(name), Labels: map[string]*string{"x": new(string)}})
	}
	deliver := func(name string) func() error {
		return func() error { return errors.Join(claimOne(t.Context(), s, name), settleOne(t.Context(), s, name)) }
	}
	create := change(task.Create{Spec: newSpec("new", benchStart)})
	fire := func() error {
		_, err := fireOne(t.Context(), s, benchStart+1000, "nightly")
		return err
	}
	for _, c := range []struct {
		what    string
		free    uint64 // of 1000 MiB
		do      func() error
		refused bool
	}{
		{"a create", 99, create, true},
		{"a schedule", 99, fire, true},
		{"a patch", 99, patch("a"), false},
		{"an attempt", 99, deliver("a"), false},
		{"a patch", 49, patch("b"), true},
		{"a cancel", 49, change(task.Cancel{Key: tasktest.Key("b")}), false},
		{"an attempt", 49, deliver("c"), false},
		{"a create", 500, create, false},
		{"a schedule", 500, fire, false}, // nothing was lost
	} {
		disk.free.Store(c.free << 20)
		if err := c.do(); c.refused && !errors.Is(err, task.ErrFull) || !c.refused && err != nil {
			t.Errorf("%s with %d MiB of 1000: %v", c.what, c.free, err)
		}
		if err := s.Standing().Err; err != nil {
			t.Error(err)
		}
	}
}

// A store that accepts no new tasks must still be able to write what it has in
// memory. Each memtable needs its size twice: in its log and in its file.
func TestChangesInMemoryFitIntoTheReserve(t *testing.T) {
	for _, total := range []uint64{160 << 20, 320 << 20, 1 << 30, 8 << 30, 1 << 40} {
		space := Space{Total: total}
		if size := int64(memTableSize(space, nil)); 2*memTables*size > space.Reserve()*3/4 {
			t.Errorf("a disk of %d MiB: %d memtables of %d MiB, and the reserve is %d MiB", total>>20, memTables, size>>20, space.Reserve()>>20)
		}
	}
	if size := memTableSize(Space{}, errors.New("unknown")); size != 32<<20 {
		t.Errorf("a file system that does not report its size: %d", size)
	}
}

func TestSpaceAcceptsTasksUntilItsReserveIsUsed(t *testing.T) {
	for _, c := range []struct {
		free, total uint64
		accepts     bool
	}{
		{100e6, 1000e6, true},
		{99e6, 1000e6, false},
		{0, 1000e6, false},
		{7 << 20, 64 << 20, true}, // a small disk is no problem by itself
		{6 << 20, 64 << 20, false},
		{11 << 30, 1000 << 30, true},
		{9 << 30, 1000 << 30, false},
		{0, 0, true}, // the file system reports no size
	} {
		s := Space{Free: c.free, Total: c.total}
		if s.Accepts() != c.accepts || strings.Contains(s.String(), "enlarge the disk") == c.accepts {
			t.Errorf("%+v: %v", s, s)
		}
	}
}
