package pebblestore

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

func TestABackupUnderLoadHasAllChangesAnsweredBefore(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "data"), Config{Policy: storetest.Policy, MemTableSize: 256 << 10})
	fatal.If(t, err)
	defer func() { _ = s.Close() }()
	mustApply(t, s, creates(0, 500, later))
	if _, err := s.Configure(t.Context(), benchStart, []settings.Edit{settings.PauseQueue{Namespace: "default", Name: "paused", Paused: true}}); err != nil {
		t.Fatal(err)
	}
	for round := range int64(2) {
		names, stop := churnNames(t, s, int(round))
		mustApply(t, s, creates(1000*(1+round), 300, later))
		before := names()
		var archive bytes.Buffer
		fatal.If(t, s.Backup(t.Context(), &archive))
		stop()
		dir := filepath.Join(t.TempDir(), "restored")
		m, err := Restore(t.Context(), &archive, dir)
		fatal.If(t, err)
		wantSame(t, dir, m)
		wantNames(t, dir, before)
	}
	storetest.CheckInvariants(t, s, benchStart, task.DefaultNamespace)
	wantNoCheckpoint(t, s)
}

// wantSame compares the contents of dir with the manifest of its backup.
func wantSame(t *testing.T, dir string, m Manifest) {
	t.Helper()
	r, err := Verify(t.Context(), dir)
	if err != nil || len(r.Problems) > 0 {
		t.Errorf("Verify: %v, problems %q", err, r.Problems)
	}
	if d := cmp.Diff(m.Contents, r.Contents); d != "" || m.Tasks == 0 || m.Checksum == "" || len(m.Queues) == 0 {
		t.Errorf("%d tasks, the contents (- the manifest, + the directory):\n%s", m.Tasks, d)
	}
}

func wantNames(t *testing.T, dir string, names []string) {
	t.Helper()
	s, err := Open(dir, Config{Policy: storetest.Policy, Now: clock})
	fatal.If(t, err)
	defer func() { _ = s.Close() }()
	for _, name := range names {
		if _, err := s.Get(t.Context(), tasktest.Key(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !s.Standing().Settings.Queue("default", "paused").Paused {
		t.Error("the settings are lost")
	}
	if page, err := s.Audit(t.Context(), settings.AuditFilter{}, 0, 1000); err != nil || len(page.Entries) != 1 {
		t.Errorf("%d audit entries, error %v", len(page.Entries), err)
	}
	storetest.CheckInvariants(t, s, benchStart, task.DefaultNamespace)
	wantHealthy(t, s)
}

// churnNames creates tasks. names returns those that were confirmed so far.
func churnNames(t *testing.T, s *Store, round int) (names func() []string, stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var answered []string
	var clients sync.WaitGroup
	for who := range 4 {
		clients.Go(func() {
			for i := 0; ctx.Err() == nil && i < 500; i++ {
				name := fmt.Sprintf("c%d-%d-%d", round, who, i)
				if apply(ctx, s, task.Create{Spec: newSpec(name, benchStart)}) != nil {
					return
				}
				mu.Lock()
				answered = append(answered, name)
				mu.Unlock()
				_ = claimOne(ctx, s, name)
				if i%3 == 0 {
					_ = settleOne(ctx, s, name)
				}
			}
		})
	}
	names = func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), answered...)
	}
	return names, func() { cancel(); clients.Wait() }
}

func wantNoCheckpoint(t *testing.T, s *Store) {
	t.Helper()
	if _, err := s.config.FS.Stat(s.config.FS.PathJoin(s.dir, checkpointDir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the checkpoint is still there: %v", err)
	}
}

// smallBackup returns the backup of a store with a few tasks.
func smallBackup(t testing.TB) []byte {
	t.Helper()
	s, err := Open("data", Config{FS: vfs.NewMem(), Now: clock})
	fatal.If(t, err)
	defer func() { _ = s.Close() }()
	mustApply(t, s, creates(0, 20, later))
	var archive bytes.Buffer
	fatal.If(t, s.Backup(t.Context(), &archive))
	return archive.Bytes()
}

// refuse restores an archive. The restore must fail and leave no files.
func refuse(t *testing.T, archive []byte, want error) {
	t.Helper()
	fs := vfs.NewMem()
	_, err := restoreTo(t.Context(), fs, bytes.NewReader(archive), "a/restored")
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
	if _, err := fs.Stat("a/restored"); !errors.Is(err, os.ErrNotExist) {
		names, _ := fs.List("a/restored")
		t.Errorf("it left %q", names)
	}
}

func TestATruncatedBackupIsRefused(t *testing.T) {
	archive := smallBackup(t)
	entries := unpack(t, archive)
	size := len(entries[len(entries)-1].data)
	end := bytes.LastIndex(archive, entries[len(entries)-1].data) + size // bytes after the manifest have no meaning
	for n := 0; n < end; n += 1 + end/200 {
		refuse(t, archive[:n], errBadBackup)
	}
	refuse(t, archive[:end-1], errBadBackup)
}

// A backup with a flipped bit is refused, unless the bit is in a byte of the
// tar archive without meaning. Then everything is there.
func TestABackupWithAFlippedBitIsRefused(t *testing.T) {
	archive := smallBackup(t)
	files := unpack(t, archive)
	harmless, refused := 0, 0
	for at := 0; at < len(archive); at += 1 + len(archive)/600 {
		altered := bytes.Clone(archive)
		altered[at] ^= 1 << (at % 8)
		fs := vfs.NewMem()
		m, err := restoreTo(t.Context(), fs, bytes.NewReader(altered), "restored")
		if err != nil {
			refused++
			if _, err := fs.Stat("restored"); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("byte %d: it left something", at)
			}
			continue
		}
		harmless++
		if r, err := verify(t.Context(), fs, "restored"); err != nil || len(r.Problems) > 0 || !cmp.Equal(r.Contents, m.Contents) {
			t.Errorf("byte %d: restored, and verified as %v %q", at, err, r.Problems)
		}
		for _, f := range files[:len(files)-1] {
			if got := readAll(t, fs, "restored/"+f.Name); !bytes.Equal(got, f.data) {
				t.Errorf("byte %d: %s was restored with another content", at, f.Name)
			}
		}
	}
	t.Logf("%d refused, %d in bytes that say nothing", refused, harmless)
	if refused < harmless {
		t.Error("the test flips nothing that matters")
	}
}

// entry is a file of an archive.
type entry struct {
	tar.Header
	data []byte
}

func unpack(t testing.TB, archive []byte) (all []entry) {
	t.Helper()
	r := tar.NewReader(bytes.NewReader(archive))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		fatal.If(t, err)
		data, err := io.ReadAll(r)
		fatal.If(t, err)
		all = append(all, entry{*h, data})
	}
}

func pack(t testing.TB, entries []entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		e.Size = int64(len(e.data))
		fatal.If(t, w.WriteHeader(&e.Header))
		if _, err := w.Write(e.data); err != nil {
			t.Fatal(err)
		}
	}
	fatal.If(t, w.Close())
	return b.Bytes()
}

func TestAChangedBackupIsRefused(t *testing.T) {
	good := unpack(t, smallBackup(t))
	last := len(good) - 1
	file := func(name, data string) entry {
		return entry{tar.Header{Name: name, Mode: 0o600, Typeflag: tar.TypeReg}, []byte(data)}
	}
	before := func(e entry) []entry { return append(append(append([]entry{}, good[:last]...), e), good[last]) }
	link := entry{tar.Header{Name: "000099.sst", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}, nil}
	m, err := parseManifest(good[last].data)
	fatal.If(t, err)
	other := func(change func(m *Manifest)) []entry {
		changed := *m
		change(&changed)
		data, err := changed.encode()
		fatal.If(t, err)
		return append(append([]entry{}, good[:last]...), file(backupManifest, string(data)))
	}
	for name, c := range map[string]struct {
		entries []entry
		want    error
	}{
		"a way out":                     {before(file("../../etc/cron.d/x", "x")), errBadBackup},
		"an absolute way":               {before(file("/etc/cron.d/x", "x")), errBadBackup},
		"a way down":                    {before(file("sub/file", "x")), errBadBackup},
		"the parent":                    {before(file("..", "x")), errBadBackup},
		"a file of ours that is local":  {before(file(watermarkFile, "x")), errBadBackup},
		"a lock":                        {before(file(lockFile, "")), errBadBackup},
		"a symbolic link":               {before(link), errBadBackup},
		"a directory":                   {before(entry{tar.Header{Name: "sub/", Typeflag: tar.TypeDir}, nil}), errBadBackup},
		"a file twice":                  {before(good[0]), errBadBackup},
		"a file more":                   {before(file("000099.sst", "x")), errBadBackup},
		"a file less":                   {good[1:], errBadBackup},
		"no manifest":                   {good[:last], errBadBackup},
		"something behind the manifest": {append(append([]entry{}, good...), file("000099.sst", "x")), errBadBackup},
		"two manifests":                 {append(append([]entry{}, good...), good[last]), errBadBackup},
		"nothing":                       {nil, errBadBackup},
		"a manifest of a later format":  {other(func(m *Manifest) { m.Format++ }), codec.ErrOtherFormat},
		"a manifest of an older format": {other(func(m *Manifest) { m.Format-- }), codec.ErrOtherFormat},
		"a manifest of more tasks":      {other(func(m *Manifest) { m.Tasks++ }), errBadBackup},
		"a manifest of other counts":    {other(func(m *Manifest) { m.Queues = m.Queues[:0] }), errBadBackup},
		"a manifest of other records":   {other(func(m *Manifest) { m.Checksum = strings.Repeat("0", 64) }), errBadBackup},
		"a manifest of a later change":  {other(func(m *Manifest) { m.Change++ }), errBadBackup},
	} {
		t.Run(name, func(t *testing.T) { refuse(t, pack(t, c.entries), c.want) })
	}
	refuse(t, []byte(strings.Repeat("this is no archive ", 100)), errBadBackup)
	refuse(t, nil, errBadBackup)
	if _, err := restoreTo(t.Context(), vfs.NewMem(), bytes.NewReader(pack(t, good)), "restored"); err != nil {
		t.Errorf("the backup itself, packed again: %v", err)
	}
}

func TestABackupIsNotRestoredOverAnything(t *testing.T) {
	archive := smallBackup(t)
	dir := t.TempDir()
	fatal.If(t, os.WriteFile(filepath.Join(dir, "thesis.tex"), []byte("x"), 0o600))
	before := listDir(t, dir)
	if _, err := Restore(t.Context(), bytes.NewReader(archive), dir); !errors.Is(err, ErrNotEmpty) || !strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("got %v", err)
	}
	if after := listDir(t, dir); !cmp.Equal(before, after) {
		t.Errorf("it was %q and is %q", before, after)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	fatal.If(t, os.Mkdir(empty, 0o700))
	if _, err := Restore(t.Context(), bytes.NewReader(archive[:4000]), empty); !errors.Is(err, errBadBackup) || len(listDir(t, empty)) > 0 {
		t.Errorf("half a backup: %v, it left %q", err, listDir(t, empty))
	}
	m, err := Restore(t.Context(), bytes.NewReader(archive), empty)
	fatal.If(t, err)
	wantSame(t, empty, m)
	if _, err := Restore(t.Context(), bytes.NewReader(archive), empty); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("a second time: %v", err)
	}
}

// After a power loss during a restore either everything is there, or no
// directory that opens.
func TestAPowerLossDuringARestoreLeavesAWholeStoreOrNone(t *testing.T) {
	archive := smallBackup(t)
	whole := 0
	for step := 1; ; step++ {
		disk, done := crashDuring(vfs.NewCrashableMem(), step, func(fs vfs.FS) func() {
			_, _ = restoreTo(t.Context(), fs, bytes.NewReader(archive), "a/data")
			return func() {}
		})
		_, unmarked := disk.Stat("a/data/" + markerFile)
		if s, err := Open("a/data", Config{FS: disk, Now: clock}); err == nil {
			if missing := countMissing(t, s, 20); unmarked == nil && missing > 0 {
				t.Errorf("after %d writes %d tasks are missing", step, missing)
			} else if missing == 0 {
				whole++
			}
			fatal.If(t, s.Close())
		} else if unmarked == nil {
			t.Errorf("after %d writes: %v", step, err)
		}
		if done {
			t.Logf("%d crash points, whole after %d of them", step, whole)
			return
		}
	}
}

func TestVerifyNamesTheProblems(t *testing.T) {
	for _, c := range broken {
		if c.name == "an entry that cannot be read" || c.name == "counts of a queue that has nothing" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			s := scrubWorld(t)
			withSchedule(t, s)
			b := s.db.NewBatch()
			c.spoil(s, b)
			fatal.If(t, s.db.Apply(b, nil))
			fatal.If(t, s.Close())
			before := readTree(t, s.config.FS)
			r, err := verify(t.Context(), s.config.FS, "data")
			if err != nil || len(r.Problems) == 0 || !r.Clean {
				t.Errorf("%v, problems %q, clean %v", err, r.Problems, r.Clean)
			}
			if d := cmp.Diff(before, readTree(t, s.config.FS)); d != "" {
				t.Errorf("it changed the directory:\n%s", d)
			}
		})
	}
}

// readTree returns the contents of each file in the data directory.
func readTree(t *testing.T, fs vfs.FS) map[string]string {
	t.Helper()
	names, err := fs.List("data")
	fatal.If(t, err)
	tree := map[string]string{}
	for _, name := range names {
		tree[name] = string(readAll(t, fs, fs.PathJoin("data", name)))
	}
	return tree
}

// FuzzExtract: any input is read or refused. It writes nothing outside of its
// directory, and never makes the reader panic. Another test compares the files
// that were read with the manifest.
func FuzzExtract(f *testing.F) {
	m := &Manifest{Format: codec.Format, Files: []backupFile{{Name: "000001.log", Size: 1}}} // small, because it is minimised again and again
	data, err := m.encode()
	fatal.If(f, err)
	log := entry{tar.Header{Name: "000001.log", Typeflag: tar.TypeReg}, []byte("x")}
	archive := pack(f, []entry{log, {tar.Header{Name: backupManifest, Typeflag: tar.TypeReg}, data}})
	f.Add(archive)
	f.Add(archive[:600])
	f.Add(pack(f, []entry{{tar.Header{Name: "../x", Typeflag: tar.TypeReg}, []byte("x")}}))
	f.Add(pack(f, []entry{{tar.Header{Name: "x", Typeflag: tar.TypeReg, PAXRecords: map[string]string{"FOLIOT.x": "y"}}, []byte("x")}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		fs := vfs.NewMem()
		fatal.If(t, fs.MkdirAll("a/temp", 0o700))
		r := &restore{fs: fs, dir: "a", temp: "a/temp"}
		if err := r.extract(bytes.NewReader(data)); err == nil && r.manifest == nil {
			t.Error("a backup without a manifest was read")
		}
		if names, err := fs.List("a"); err != nil || len(names) != 1 {
			t.Errorf("it wrote %q, %v", names, err)
		}
	})
}
