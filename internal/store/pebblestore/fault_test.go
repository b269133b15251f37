package pebblestore

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

var errInjected = errors.New("injected")

// crashAfter opens a directory on a disk that loses its power at the n-th
// write, sync or rename. It returns the disk after that. done reports that
// opening took fewer than n such operations.
func crashAfter(t *testing.T, disk *vfs.MemFS, n int) (crashed *vfs.MemFS, done bool) {
	t.Helper()
	return crashDuring(disk, n, func(fs vfs.FS) (over func()) {
		s, err := Open("a/data", Config{FS: fs})
		fatal.If(t, err)
		return func() {
			fatal.If(t, s.Close())
		}
	})
}

// crashDuring is crashAfter for work instead of opening. The function that work
// returns is called after the crash.
func crashDuring(disk *vfs.MemFS, n int, work func(vfs.FS) (over func())) (crashed *vfs.MemFS, done bool) {
	var ops atomic.Int64
	rng := rand.New(rand.NewPCG(uint64(n), 0))
	over := work(errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && ops.Add(1) == int64(n) {
			crashed = disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		}
		return nil
	})))
	worked := ops.Load()
	over()
	if crashed == nil {
		crashed = powerOff(disk)
	}
	return crashed, worked < int64(n)
}

func TestAFailedSyncStopsTheStore(t *testing.T) {
	disk := vfs.NewCrashableMem()
	var broken atomic.Bool
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && isLogSync(op) {
			return errInjected
		}
		return nil
	}))
	var called []error
	s := open(t, fs, Config{OnFatal: func(err error) { called = append(called, err) }})
	mustApply(t, s, creates(0, 100, later))
	broken.Store(true)
	if _, err := s.Transit(t.Context(), benchStart, store.Changes(creates(100, 1, later))); !errors.Is(err, task.ErrClosed) || !errors.Is(err, errInjected) {
		t.Errorf("the create that was not synced: %v", err)
	}
	broken.Store(false) // a sync that succeeds after a failed one proves nothing
	calls := storetest.Calls(t.Context(), s, benchStart)
	calls["Backup"] = func() error { return s.Backup(t.Context(), io.Discard) }
	for name, call := range calls {
		if err := call(); !errors.Is(err, task.ErrClosed) {
			t.Errorf("%s after the failure: %v", name, err)
		}
	}
	if err := s.Standing().Err; !errors.Is(err, errInjected) {
		t.Errorf("Err: %v", err)
	}
	if err := s.Close(); !errors.Is(err, errInjected) {
		t.Errorf("Close: %v", err)
	}
	if len(called) != 1 || !errors.Is(called[0], errInjected) {
		t.Errorf("OnFatal was called with %v", called)
	}
	if missing := countMissing(t, open(t, powerOff(disk), Config{}), 100); missing > 0 {
		t.Errorf("%d of 100 answered tasks are missing", missing)
	}
}

// A full disk, or a disk that fails in the background, leaves Pebble in the
// middle of a step, so the process must end: the test runs a process of its
// own. A second process, started while the disk is still full, must lose
// nothing either.
func TestAProcessWhoseDiskFailsEndsAndLosesNothing(t *testing.T) {
	quick.Leave(t, "starts processes")
	// The first change on the full disk is a cancel. Its reply may be missing,
	// but it is in force if the log has it.
	either := []task.State{task.Scheduled, task.Cancelled}
	for fault, unanswered := range map[string][]task.State{
		"full": {task.Scheduled}, "full-log": {task.Scheduled}, "torn-log": {task.Scheduled}, "full-at-close": {task.Scheduled},
		"sync":        {task.Cancelled},
		"full-tables": either, "new-log": either, "manifest": either,
	} {
		t.Run(fault, func(t *testing.T) {
			dir := t.TempDir() + "/data"
			out, err := runChild(t, fault, dir)
			if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != childFailed {
				t.Fatalf("the child ended with %v, want exit code %d\n%s", err, childFailed, out)
			}
			if !strings.Contains(out, "no space left on device") || !strings.Contains(out, dir) {
				t.Errorf("the reason and the directory are not named:\n%s", out[max(0, len(out)-500):])
			}
			// Otherwise Pebble would try forever to write the contents of the log.
			again, err := runChild(t, "full-at-open", dir)
			if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != childFailed || !strings.Contains(again, "no space left on device") || !strings.Contains(again, dir) {
				t.Errorf("a start on the full disk ended with %v\n%s", err, again)
			}
			s, err := Open(dir, Config{})
			if err != nil {
				t.Fatalf("open again: %v", err)
			}
			defer func() { _ = s.Close() }()
			states := answeredStates(out)
			for name, want := range states {
				if name == newName(fullAt-1) && want != task.Cancelled {
					continue
				}
				if got, err := s.Get(t.Context(), tasktest.Key(name)); err != nil || got.State != want {
					t.Errorf("%s was answered as %v: it is %+v, %v", name, want, got, err)
				}
			}
			cut, err := s.Get(t.Context(), tasktest.Key(newName(fullAt-1)))
			if err != nil || states[cut.Name] != task.Cancelled && !slices.Contains(unanswered, cut.State) {
				t.Errorf("the cancel on the full disk left %+v, %v", cut, err)
			}
			t.Logf("%d answered, none missing", len(states))
		})
	}
}

// answeredStates returns the states of the tasks according to the child's
// replies.
func answeredStates(out string) map[string]task.State {
	states := map[string]task.State{}
	for line := range strings.Lines(out) {
		word, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "created":
			states[name] = task.Scheduled
		case "cancelled":
			states[name] = task.Cancelled
		}
	}
	return states
}

// runChild runs TestChildWithAFailingDisk in a process of its own.
func runChild(t *testing.T, fault, dir string) (string, error) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestChildWithAFailingDisk$")
	child.Env = append(os.Environ(), "FOLIOT_TEST_FAULT="+fault, "FOLIOT_TEST_DIR="+dir)
	out, err := child.CombinedOutput()
	return string(out), err
}

const childFailed = 41

func TestChildWithAFailingDisk(t *testing.T) {
	fault := os.Getenv("FOLIOT_TEST_FAULT")
	if fault == "" {
		t.Skip("only as a child of the test above")
	}
	var broken atomic.Bool
	broken.Store(fault == "full-at-open")
	var fs vfs.FS = errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && meets(fault, op) {
			return &os.PathError{Op: "write", Path: op.Path, Err: syscall.ENOSPC}
		}
		return nil
	}))
	if fault == "torn-log" {
		fs = tornFS{fs, &broken}
	}
	s, err := Open(os.Getenv("FOLIOT_TEST_DIR"), Config{FS: fs, MemTableSize: 256 << 10, OnFatal: func(err error) {
		fmt.Println(err)
		os.Exit(childFailed)
	}})
	if err != nil && fault == "full-at-open" {
		fmt.Println(err)
		os.Exit(childFailed)
	}
	fatal.If(t, err)
	apply := func(word string, id int64, changes ...task.Change) {
		if _, err := s.Transit(t.Context(), benchStart, store.Changes(changes)); err != nil {
			<-t.Context().Done() // OnFatal ends the process
		}
		fmt.Println(word, newName(id))
	}
	for id := range int64(20_000) {
		if id == fullAt {
			broken.Store(true)
			if fault == "full-at-close" {
				t.Fatalf("Close returned before the process ended: %v", s.Close())
			}
		}
		if id == fullAt { // the first change on the full disk
			apply("cancelled", id-1, task.Cancel{Key: tasktest.Key(newName(id - 1))})
		}
		apply("created", id, creates(id, 1, later)...)
	}
	t.Error("the failure went unnoticed")
}

// fullAt is how many tasks the child creates before its disk fails.
const fullAt = 500

// tornFS is a disk that becomes full in the middle of a write to the log.
type tornFS struct {
	vfs.FS
	full *atomic.Bool
}

func (d tornFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, category)
	if err != nil || !strings.HasSuffix(name, ".log") {
		return f, err
	}
	return tornFile{f, d.full}, nil
}

type tornFile struct {
	vfs.File
	full *atomic.Bool
}

// Fd keeps Pebble from writing to the file without this type.
func (f tornFile) Fd() uintptr { return vfs.InvalidFd }

func (f tornFile) Write(p []byte) (int, error) {
	if !f.full.Load() {
		return f.File.Write(p)
	}
	n, err := f.File.Write(p[:len(p)/2])
	if err == nil {
		err = &os.PathError{Op: "write", Path: "the log", Err: syscall.ENOSPC}
	}
	return n, err
}

// meets reports whether the fault affects op.
func meets(fault string, op errorfs.Op) bool {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return false
	}
	isLog, isTable := strings.HasSuffix(op.Path, ".log"), strings.HasSuffix(op.Path, ".sst")
	grows := op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpFilePreallocate
	switch fault {
	case "full", "full-at-close":
		return grows
	case "full-at-open":
		return grows && !strings.HasSuffix(op.Path, lockFile)
	case "full-log":
		return isLog && op.Kind == errorfs.OpFileWrite
	case "full-tables":
		return isTable && grows
	case "sync":
		return isLogSync(op)
	case "new-log":
		return isLog && (op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpReuseForWrite)
	}
	return strings.Contains(op.Path, "MANIFEST") && grows
}

// A long attempt may be under way each time that a full disk stops the server.
// Only a process that dies without such a reason counts against it.
func TestAFullDiskCountsAgainstNoTask(t *testing.T) {
	disk := vfs.NewCrashableMem()
	var full atomic.Bool
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && (isLogSync(op) || meets("full", op)) {
			return &os.PathError{Op: "write", Path: op.Path, Err: syscall.ENOSPC}
		}
		return nil
	}))
	now := benchStart
	attempt := func(s *Store) *task.Task {
		t.Helper()
		got, err := s.Get(t.Context(), tasktest.Key("a"))
		fatal.If(t, err)
		now += 1000
		if err := claimTask(t.Context(), s, got, max(now, got.Due)); err != nil {
			t.Fatalf("the attempt after %d reclaims: %v, %+v", got.Reclaims, err, got)
		}
		return got
	}
	s := open(t, fs, Config{})
	mustApply(t, s, []task.Change{task.Create{Spec: newSpec("a", benchStart)}})
	for i := range task.MaxReclaims + 2 {
		if got := attempt(s); got.Reclaims != 0 {
			t.Fatalf("after %d full disks: %+v", i, got)
		}
		if i == 0 { // replaced while its attempt is under way
			replaced := newSpec("a", benchStart)
			replaced.ID = "a2"
			mustApply(t, s, []task.Change{task.Replace{Spec: replaced}})
		}
		mustApply(t, s, creates(int64(now), 1, later)) // syncs the claim
		full.Store(true)
		if err := settleOne(t.Context(), s, "a"); !errors.Is(err, task.ErrClosed) {
			t.Fatalf("a settlement on a full disk: %v", err)
		}
		_ = s.Close() // the failure, again
		full.Store(false)
		s = open(t, fs, Config{})
	}
	if got := attempt(s); got.Reclaims != 0 || len(got.History) == 0 {
		t.Errorf("full disks count against the task: %+v", got)
	}
	mustApply(t, s, creates(0, 1, later))
	s = open(t, powerOff(disk), Config{}) // the process dies for an unknown reason
	if got := attempt(s); got.Reclaims != 1 {
		t.Errorf("after a crash the task has %d reclaims, want 1", got.Reclaims)
	}
}
