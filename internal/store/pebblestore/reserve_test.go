package pebblestore

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store"
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
	now := benchStart
	one := func(c task.Change) error {
		t.Helper()
		replies, err := s.Transit(t.Context(), now, store.Changes([]task.Change{c}))
		fatal.If(t, err)
		return replies[0].Err
	}
	create := func(name string) error { return one(task.Create{Spec: newSpec(name, now)}) }
	patch := task.Patch{Key: tasktest.Key("a"), Labels: map[string]*string{"x": new(string)}}
	mustApply(t, s, []task.Change{eachSecond("nightly"), task.Create{Spec: newSpec("a", now)}, task.Create{Spec: newSpec("b", now)}, task.Create{Spec: newSpec("c", now)}})
	deliver := func(name string) {
		t.Helper()
		got, err := s.Get(t.Context(), tasktest.Key(name))
		fatal.If(t, err)
		claims, err := s.Transit(t.Context(), now, store.Claims([]task.Claim{tasktest.Claim(got, "token", now.Add(1e9))}))
		if err != nil || claims[0].Err != nil {
			t.Fatal(err, claims)
		}
		settled, err := s.Transit(t.Context(), now, store.Settlements([]task.Settlement{{Key: got.Key(), Token: "token", Outcome: task.Outcome{Verdict: task.Success, Status: 200}}}))
		if err != nil || settled[0].Err != nil {
			t.Fatal(err, settled)
		}
	}
	fire := func() error {
		t.Helper()
		_, err := fireOne(t.Context(), s, benchStart+1000, "nightly")
		return err
	}

	disk.free.Store(99 << 20) // less than a tenth
	if err := create("new"); !errors.Is(err, task.ErrFull) {
		t.Errorf("a create at 90 %% of the disk: %v", err)
	}
	if err := fire(); !errors.Is(err, task.ErrFull) {
		t.Errorf("a schedule at 90 %% of the disk: %v", err)
	}
	if err := one(patch); err != nil {
		t.Errorf("a patch at 90 %% of the disk: %v", err)
	}
	deliver("a")

	disk.free.Store(49 << 20) // less than a twentieth
	if err := one(task.Patch{Key: tasktest.Key("b"), Labels: map[string]*string{"x": new(string)}}); !errors.Is(err, task.ErrFull) {
		t.Errorf("a patch at 95 %% of the disk: %v", err)
	}
	if err := one(task.Cancel{Key: tasktest.Key("b")}); err != nil {
		t.Errorf("a cancel at 95 %% of the disk: %v", err)
	}
	deliver("c")
	if err := s.Standing().Err; err != nil {
		t.Error(err)
	}

	disk.free.Store(500 << 20)
	if err := create("new"); err != nil {
		t.Errorf("a create when there is room again: %v", err)
	}
	if err := fire(); err != nil { // nothing was lost
		t.Error(err)
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
