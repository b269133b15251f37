package pebblestore

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
)

// A flipped bit may prevent a start, but never loses a task: either the store
// refuses to open, or all confirmed changes are there.
func TestFlippedBitInALogIsRefusedAndNeverCostsTasks(t *testing.T) {
	for _, c := range []struct {
		name string
		size uint64 // of a memory table: small, so that the manifest has several records
		end  func(*testing.T, *vfs.MemFS, *Store) *vfs.MemFS
		log  func(name string) bool
	}{
		{"log of a killed process", 16 << 20, kill, isLog},
		{"logs of a killed process that wrote tables", 256 << 10, kill, isLog},
		{"manifest of a killed process", 256 << 10, kill, isManifest},
		{"manifest after a close", 256 << 10, stop, isManifest},
	} {
		t.Run(c.name, func(t *testing.T) {
			disk := vfs.NewCrashableMem()
			s := open(t, disk, Config{MemTableSize: c.size})
			n := int64(1000)
			if testing.Short() {
				n = 500
			}
			for id := range n {
				mustApply(t, s, creates(id, 1, later))
			}
			whole := c.end(t, disk, s)
			refused, opened := 0, 0
			for _, path := range pathsOf(t, whole, c.log) {
				r, o := flipBits(t, whole, path, n)
				refused, opened = refused+r, opened+o
			}
			t.Logf("%d refused, %d opened with every task", refused, opened)
			if refused == 0 {
				t.Error("no flip was refused")
			}
		})
	}
}

func kill(t *testing.T, disk *vfs.MemFS, s *Store) *vfs.MemFS { return cloneDisk(disk) }

func stop(t *testing.T, disk *vfs.MemFS, s *Store) *vfs.MemFS {
	fatal.If(t, s.Close())
	return disk
}

func isLog(name string) bool      { return strings.HasSuffix(name, ".log") }
func isManifest(name string) bool { return strings.HasPrefix(name, manifestPrefix) }

// flipBits opens copies of disk. In each copy one bit of a file is flipped. It
// counts the copies that were refused and those that had every task.
func flipBits(t *testing.T, disk *vfs.MemFS, path string, n int64) (refused, opened int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	bytes := readAll(t, disk, path)
	flips := 40
	if testing.Short() {
		flips = 6
	}
	for i := range flips {
		at := i * used(bytes) / flips
		if at >= len(bytes) {
			return refused, opened
		}
		flipped := slices.Clone(bytes)
		flipped[at] ^= 1 << rng.IntN(8)
		copied := cloneDisk(disk)
		writeAll(t, copied, path, flipped)
		s, err := Open("data", Config{FS: copied, Policy: storetest.Policy})
		if err != nil {
			refused++
			if !errors.Is(err, errDirectory) || !strings.Contains(err.Error(), "data") {
				t.Fatalf("%s, byte %d: refused without saying why: %v", path, at, err)
			}
			continue
		}
		opened++
		if missing := countMissing(t, s, n); missing > 0 {
			t.Errorf("%s, byte %d of %d: opened without an error and without %d of %d tasks", path, at, used(bytes), missing, n)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	return refused, opened
}

func cloneDisk(disk *vfs.MemFS) *vfs.MemFS {
	return disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(0, 0))})
}

func pathsOf(t *testing.T, fs vfs.FS, want func(name string) bool) (paths []string) {
	t.Helper()
	names, err := fs.List("data")
	fatal.If(t, err)
	for _, name := range names {
		if want(name) {
			paths = append(paths, fs.PathJoin("data", name))
		}
	}
	return paths
}

// used returns the length of b without the zeros at its end.
func used(b []byte) int {
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return len(b)
}

func readAll(t *testing.T, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	fatal.If(t, err)
	defer f.Close()
	b, err := io.ReadAll(f)
	fatal.If(t, err)
	return b
}

func writeAll(t *testing.T, fs vfs.FS, path string, b []byte) {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.Write(b)
	}
	fatal.If(t, errors.Join(err, f.Sync(), f.Close()))
}

func countMissing(t *testing.T, s *Store, n int64) (missing int) {
	t.Helper()
	for id := range n {
		if _, err := s.Get(t.Context(), task.Key{Namespace: task.DefaultNamespace, Name: newName(id)}); err != nil {
			missing++
		}
	}
	return missing
}
