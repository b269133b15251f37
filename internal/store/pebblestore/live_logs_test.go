package pebblestore

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task"
)

// manyLogs returns the disk of a killed process, the names of its logs, the
// oldest first, and the number of tasks. No table has the changes in the logs.
func manyLogs(t *testing.T) (disk *vfs.MemFS, logs []string, n int64) {
	t.Helper()
	live := vfs.NewCrashableMem()
	tables := make(chan struct{})
	s := open(t, errorfs.Wrap(live, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") {
			<-tables
		}
		return nil
	})), Config{MemTableSize: 256 << 10, Now: clock})
	for len(logs) < 3 {
		mustApply(t, s, withBodies(creates(n, 20, later)))
		n, logs = n+20, pathsOf(t, live, isLog)
	}
	mustApply(t, s, withBodies(creates(n, 20, later)))
	disk = cloneDisk(live)
	close(tables)
	fatal.If(t, s.Close())
	slices.Sort(logs)
	return disk, logs, n + 20
}

func withBodies(changes []task.Change) []task.Change {
	for i, c := range changes {
		create := c.(task.Create)
		create.Spec.Request.Body = []byte(`"` + strings.Repeat("x", 900) + `"`)
		create.Spec.Request.BodySize, create.Spec.Request.BodyKind = len(create.Spec.Request.Body), task.JSONBody
		changes[i] = create
	}
	return changes
}

// damages are ways to lose a part of a file.
var damages = map[string]func(t *testing.T, disk *vfs.MemFS, path string){
	"removed": func(t *testing.T, disk *vfs.MemFS, path string) {
		fatal.If(t, disk.Remove(path))
	},
	"emptied": func(t *testing.T, disk *vfs.MemFS, path string) { writeAll(t, disk, path, nil) },
	"truncated": func(t *testing.T, disk *vfs.MemFS, path string) {
		b := readAll(t, disk, path)
		writeAll(t, disk, path, b[:used(b)/2])
	},
	"zeroed": func(t *testing.T, disk *vfs.MemFS, path string) {
		b := readAll(t, disk, path)
		clear(b[used(b)/2:])
		writeAll(t, disk, path, b)
	},
	"cut after a block": func(t *testing.T, disk *vfs.MemFS, path string) {
		b := readAll(t, disk, path)
		writeAll(t, disk, path, b[:used(b)/2&^(32<<10-1)])
	},
}

// TestALostPartOfTheLogIsRefusedAndChangesNothing: each log, each way, by the
// start and by the examination.
func TestALostPartOfTheLogIsRefusedAndChangesNothing(t *testing.T) {
	disk, logs, n := manyLogs(t)
	for _, path := range logs {
		for how, damage := range damages {
			broken := cloneDisk(disk)
			damage(t, broken, path)
			before := contentOf(t, broken)
			_, examined := verify(t.Context(), broken, "data")
			s, err := Open("data", Config{FS: broken, Now: clock})
			if err == nil {
				t.Errorf("%s %s: opened without %d of %d tasks", path, how, countMissing(t, s, n), n)
				_ = s.Close()
			}
			if !errors.Is(err, errDirectory) || !errors.Is(examined, errDirectory) {
				t.Errorf("%s %s: the start: %v; the examination: %v", path, how, err, examined)
			}
			if path == logs[len(logs)-1] { // numberNote shows the loss, after Pebble has read the log
				continue
			}
			if err != nil && !strings.Contains(err.Error(), path) || !slices.Equal(before, contentOf(t, broken)) {
				t.Errorf("%s %s: the directory was changed, or the log is not named: %v", path, how, err)
			}
		}
	}
	s := open(t, disk, Config{Now: clock})
	if missing := countMissing(t, s, n); missing > 0 {
		t.Errorf("undamaged, %d tasks are missing", missing)
	}
}

// contentOf returns names and contents of all files but LOCK.
func contentOf(t *testing.T, disk *vfs.MemFS) (all []string) {
	t.Helper()
	for _, path := range pathsOf(t, disk, func(name string) bool { return name != lockFile }) {
		all = append(all, path+"\x00"+string(readAll(t, disk, path)))
	}
	slices.Sort(all)
	return all
}

func TestADirectoryWithoutItsDatabaseIsRefused(t *testing.T) {
	for without, is := range map[string]func(name string) bool{
		"all but the marker": func(name string) bool { return name != markerFile && name != lockFile },
		"its manifest":       func(name string) bool { return isManifest(name) || strings.HasPrefix(name, "marker.manifest") },
	} {
		disk, _, _ := manyLogs(t)
		for _, path := range pathsOf(t, disk, is) {
			damages["removed"](t, disk, path)
		}
		for range 2 {
			if _, err := Open("data", Config{FS: disk, Now: clock}); !errors.Is(err, errDirectory) {
				t.Errorf("without %s: %v", without, err)
			}
		}
	}
}

func TestAMissingOrEmptyWatermarkIsRefused(t *testing.T) {
	killed, _, _ := manyLogs(t)
	closed := cloneDisk(killed)
	fatal.If(t, open(t, closed, Config{Now: clock}).Close())
	for name, disk := range map[string]*vfs.MemFS{"killed": killed, "closed": closed} {
		for _, how := range []string{"removed", "emptied"} {
			broken := cloneDisk(disk)
			damages[how](t, broken, "data/"+watermarkFile)
			for range 2 {
				_, examined := verify(t.Context(), broken, "data")
				_, err := Open("data", Config{FS: broken, Now: clock})
				if !errors.Is(err, errDirectory) || !strings.Contains(err.Error(), watermarkFile) || !errors.Is(examined, errDirectory) {
					t.Errorf("%s, %s: the start: %v; the examination: %v", name, how, err, examined)
				}
			}
		}
	}
}

// TestALogThatIsNotNeededMayBeMissing: Pebble keeps such logs to reuse their
// files.
func TestALogThatIsNotNeededMayBeMissing(t *testing.T) {
	disk := vfs.NewCrashableMem()
	s := open(t, disk, Config{MemTableSize: 256 << 10, Now: clock})
	const n = 500
	for first := int64(0); first < n; first += 50 {
		mustApply(t, s, withBodies(creates(first, 50, later)))
		fatal.If(t, s.db.Flush())
	}
	killed := cloneDisk(disk)
	fatal.If(t, s.Close())
	logs := pathsOf(t, killed, isLog)
	slices.Sort(logs)
	if len(logs) < 2 {
		t.Fatal("Pebble keeps no old logs: ", logs)
	}
	for _, path := range logs[:len(logs)-1] {
		damages["removed"](t, killed, path)
	}
	s = open(t, killed, Config{Now: clock})
	if missing := countMissing(t, s, n); missing > 0 {
		t.Errorf("%d tasks are missing", missing)
	}
}

// TestAClosedDirectoryNeedsNoLog: tools that copy directories often leave out
// *.log.
func TestAClosedDirectoryNeedsNoLog(t *testing.T) {
	for _, how := range []string{"removed", "emptied"} {
		disk, _, n := manyLogs(t)
		fatal.If(t, open(t, disk, Config{Now: clock}).Close())
		for _, path := range pathsOf(t, disk, isLog) {
			damages[how](t, disk, path)
		}
		s := open(t, disk, Config{Now: clock})
		if missing := countMissing(t, s, n); missing > 0 {
			t.Errorf("%s: %d tasks are missing", how, missing)
		}
	}
}
