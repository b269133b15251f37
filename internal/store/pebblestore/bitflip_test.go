package pebblestore

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
)

// A flipped bit may cost the start, never a task: either the store refuses to
// open, or everything that was answered is there.
func TestFlippedBitInTheLogIsRefusedAndNeverCostsTasks(t *testing.T) {
	disk := vfs.NewCrashableMem()
	s := open(t, disk, Config{})
	const n = 300
	for id := range int64(n) {
		mustApply(t, s, creates(id, 1, later))
	}
	whole := cloneDisk(disk) // as a kill leaves it
	log := largestLog(t, whole)
	bytes := readAll(t, whole, log)
	t.Logf("the log has %d bytes in use", used(bytes))

	rng := rand.New(rand.NewPCG(1, 2))
	refused, healthy := 0, 0
	for i := range 150 {
		at := i * used(bytes) / 150
		flipped := slices.Clone(bytes)
		flipped[at] ^= 1 << rng.IntN(8)
		disk := cloneDisk(whole)
		writeAll(t, disk, log, flipped)
		s, err := Open("data", Config{FS: disk, Policy: storetest.Policy})
		if err != nil {
			refused++
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "data") {
				t.Fatalf("byte %d: refused without saying why: %v", at, err)
			}
			continue
		}
		healthy++
		if missing := countMissing(t, s, n); missing > 0 {
			t.Errorf("byte %d of %d: opened without an error and without %d of %d tasks", at, used(bytes), missing, n)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	t.Logf("%d refused, %d opened with every task", refused, healthy)
	if refused == 0 {
		t.Error("no flip was refused")
	}
}

func cloneDisk(disk *vfs.MemFS) *vfs.MemFS {
	return disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(0, 0))})
}

func largestLog(t *testing.T, fs vfs.FS) (path string) {
	t.Helper()
	names, err := fs.List("data")
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for _, name := range names {
		p := fs.PathJoin("data", name)
		if strings.HasSuffix(name, ".log") && used(readAll(t, fs, p)) > most {
			most, path = used(readAll(t, fs, p)), p
		}
	}
	return path
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
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeAll(t *testing.T, fs vfs.FS, path string, b []byte) {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.Write(b)
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
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
