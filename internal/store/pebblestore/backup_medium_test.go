package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task"
)

// badWriter fails after left bytes.
type badWriter struct{ left int }

var errBadWriter = errors.New("the client is gone")

func (w *badWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errBadWriter
	}
	return len(p), nil
}

func TestABackupThatCannotBeWrittenLeavesNothing(t *testing.T) {
	s := scrubWorld(t)
	for _, n := range []int{0, 600, 5000} {
		if err := s.Backup(t.Context(), &badWriter{n}); !errors.Is(err, errBadWriter) {
			t.Errorf("after %d bytes: %v", n, err)
		}
		wantNoCheckpoint(t, s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Backup(ctx, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	wantNoCheckpoint(t, s)
	pipe, w := io.Pipe()
	done := make(chan error)
	go func() { done <- s.Backup(t.Context(), w) }()
	if _, err := pipe.Read(make([]byte, 1)); err != nil { // the backup is under way
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), io.Discard); !errors.Is(err, ErrBackupRunning) {
		t.Errorf("two at a time: %v", err)
	}
	_ = pipe.CloseWithError(errBadWriter)
	if err := <-done; !errors.Is(err, errBadWriter) {
		t.Errorf("the first: %v", err)
	}
	wantHealthy(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Backup(t.Context(), io.Discard); !errors.Is(err, task.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A disk without room for a backup may have room for tasks.
func TestABackupOnAFullDiskDoesNotStopTheStore(t *testing.T) {
	var full atomic.Bool
	s := open(t, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && strings.Contains(op.Path, checkpointDir) && strings.HasSuffix(op.Path, ".log") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return errInjected
		}
		return nil
	})), Config{})
	mustApply(t, s, creates(0, 10, later))
	full.Store(true)
	if err := s.Backup(t.Context(), io.Discard); !errors.Is(err, errInjected) {
		t.Errorf("got %v", err)
	}
	wantNoCheckpoint(t, s)
	mustApply(t, s, creates(10, 10, later))
	wantHealthy(t, s)
}

// miscopying is a file system that damages the next copies of a file for a
// backup.
type miscopying struct {
	vfs.FS
	spoils
	copies atomic.Int64
}

// spoils writes zeros into each write, from one percentage of the write to
// another.
type spoils struct {
	file     string
	from, to int
}

// spoilt holds logs that look shorter than they are, and a copy that does not
// open.
var spoilt = []spoils{{".log", 0, 100}, {".log", 30, 40}, {"/MANIFEST", 30, 40}}

func (m *miscopying) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := m.FS.Create(name, category)
	if err == nil && strings.Contains(name, checkpointDir) && strings.Contains(name, m.file) && m.copies.Add(-1) >= 0 {
		f = spoiltFile{f, m.spoils}
	}
	return f, err
}

type spoiltFile struct {
	vfs.File
	spoils
}

func (f spoiltFile) Write(p []byte) (int, error) {
	q := bytes.Clone(p)
	clear(q[len(q)*f.from/100 : len(q)*f.to/100])
	return f.File.Write(q)
}

func TestABackupRepeatsACopyThatIsBad(t *testing.T) {
	for _, spoils := range spoilt {
		disk := &miscopying{FS: vfs.NewMem(), spoils: spoils}
		s := open(t, disk, Config{})
		for first := int64(0); first < 50; first += 10 {
			mustApply(t, s, creates(first, 10, later))
		}
		disk.copies.Store(1000) // all
		var archive bytes.Buffer
		if err := s.Backup(t.Context(), &archive); err == nil || !strings.Contains(err.Error(), "3 copies in a row") || archive.Len() > 0 {
			t.Errorf("%v: %v, after %d bytes", spoils, err, archive.Len())
		}
		wantNoCheckpoint(t, s)
		if made := 1000 - disk.copies.Load(); made != copyTries {
			t.Errorf("%d copies were made", made)
		}
		disk.copies.Store(copyTries - 1)
		fatal.If(t, s.Backup(t.Context(), &archive))
		m, err := restoreTo(t.Context(), vfs.NewMem(), &archive, "restored")
		if err != nil || m.Tasks != 50 {
			t.Errorf("%v: %d tasks, error %v", spoils, m.Tasks, err)
		}
		wantNoCheckpoint(t, s)
		wantHealthy(t, s)
	}
}

// A manifest that ends early opens, and the log after it has the newest change.
func TestABackupNeverAcceptsACopyWithMissingTables(t *testing.T) {
	again := 0
	for from := 0; from < 100; from += 5 {
		disk := &miscopying{FS: vfs.NewMem(), spoils: spoils{"/MANIFEST", from, 100}}
		s := open(t, disk, Config{})
		for first := int64(0); first < 50; first += 10 {
			mustApply(t, s, creates(first, 10, later))
			fatal.If(t, s.db.Flush())
		}
		mustApply(t, s, creates(50, 10, later))
		disk.copies.Store(1)
		var archive bytes.Buffer
		if err := s.Backup(t.Context(), &archive); err != nil {
			t.Fatalf("from %d of 100: %v", from, err)
		}
		if disk.copies.Load() < 0 {
			again++
		}
		m, err := restoreTo(t.Context(), vfs.NewMem(), &archive, "restored")
		if err != nil || m.Tasks != 60 {
			t.Errorf("from %d of 100: %d tasks of 60, error %v", from, m.Tasks, err)
		}
	}
	if again < 5 {
		t.Errorf("%d copies were made again: does the test still spoil any?", again)
	}
}

// A crash during a backup leaves files, and the next start removes them.
func TestALeftoverCheckpointIsRemoved(t *testing.T) {
	disk := vfs.NewMem()
	s := open(t, disk, Config{})
	fatal.If(t, s.checkpoint(disk, disk.PathJoin("data", checkpointDir)))
	fatal.If(t, s.Close())
	wantNoCheckpoint(t, open(t, disk, Config{}))
}
