package pebblestore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/pebblestore/marker"
	"github.com/foliot/foliot/internal/task"
)

func TestASecondStoreOnTheSameDirectoryIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s, err := Open(dir, Config{})
	fatal.If(t, err)
	defer func() { _ = s.Close() }()
	mustApply(t, s, creates(0, 10, later))
	link := filepath.Join(t.TempDir(), "link")
	fatal.If(t, os.Symlink(dir, link))
	t.Chdir(filepath.Dir(dir))
	for _, name := range []string{dir, link, "data", "./data/../data"} {
		if again, err := Open(name, Config{}); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), name+": this process has it open already") {
			t.Errorf("second store, as %s: %v", name, err)
			if err == nil {
				_ = again.Close()
			}
		}
	}
	mustApply(t, s, creates(10, 10, later)) // the first store still works
	fatal.If(t, s.Close())
	again, err := Open(dir, Config{})
	if err != nil {
		t.Fatalf("after the first one was closed: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestARefusedDirectoryIsNotChanged(t *testing.T) {
	of := func(format int) string { return fmt.Sprintf(markerText, format) }
	moves := []string{fmt.Sprint("reads only format ", codec.Format), "foliot export", "foliot import"}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  error
		says  []string
	}{
		{"newer", map[string]string{markerFile: of(codec.Format + 1), "000007.log": "x"}, codec.ErrOtherFormat, append(moves, fmt.Sprintf("has format %d,", codec.Format+1))},
		{"unreleased", map[string]string{markerFile: of(5) + "oldest-reader 5\n", "000007.log": "x"}, codec.ErrOtherFormat, append(moves, "has format 5,")},
		{"foreign", map[string]string{"thesis.tex": "\\documentclass"}, marker.ErrForeign, []string{"thesis.tex", markerFile}},
		{"another program's database", map[string]string{"CURRENT": "MANIFEST-000001\n", "000007.log": "x"}, marker.ErrForeign, nil},
		{"unreadable marker", map[string]string{markerFile: "format one\n"}, errDirectory, []string{markerFile}},
		{"empty marker", map[string]string{markerFile: ""}, errDirectory, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range c.files {
				fatal.If(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			}
			before := listDir(t, dir)
			_, err := Open(dir, Config{})
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			for _, word := range append(c.says, dir) {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not say %q", err, word)
				}
			}
			if after := listDir(t, dir); !slices.Equal(before, after) {
				t.Errorf("the directory was %q and is %q", before, after)
			}
		})
	}
}

// listDir returns the names, sizes and times of the files in dir.
func listDir(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	fatal.If(t, err)
	for _, e := range entries {
		info, err := e.Info()
		fatal.If(t, err)
		all = append(all, fmt.Sprint(e.Name(), info.Size(), info.ModTime()))
	}
	return all
}

func TestADatabaseOfANewerPebbleIsRefused(t *testing.T) {
	disk := vfs.NewMem()
	fatal.If(t, open(t, disk, Config{}).Close())
	names, err := disk.List("data")
	fatal.If(t, err)
	for _, name := range names {
		if number, ok := strings.CutPrefix(name, "marker.format-version."); ok {
			newer := number[:strings.IndexByte(number, '.')] + ".999"
			fatal.If(t, disk.Rename(disk.PathJoin("data", name), disk.PathJoin("data", "marker.format-version."+newer)))
		}
	}
	if _, err := Open("data", Config{FS: disk}); !errors.Is(err, codec.ErrOtherFormat) || !strings.Contains(err.Error(), "999") {
		t.Errorf("got %v", err)
	}
}

func TestAFileInPlaceOfTheDirectoryIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	fatal.If(t, os.WriteFile(path, nil, 0o600))
	if _, err := Open(path, Config{}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}

// After a power loss while the directory is being created, the next start can
// continue.
func TestAPowerLossDuringTheCreationOfADirectoryDoesNoDamage(t *testing.T) {
	for step := 1; ; step++ {
		disk, done := crashAfter(t, vfs.NewCrashableMem(), step)
		s, err := Open("a/data", Config{FS: disk})
		if err != nil {
			t.Fatalf("after %d writes: %v", step, err)
		}
		mustApply(t, s, creates(0, 1, later))
		fatal.If(t, s.Close())
		if done {
			t.Logf("%d crash points", step)
			return
		}
	}
}

func TestAPowerLossDuringARecoveryLosesNothing(t *testing.T) {
	const n = 50
	killed := vfs.NewCrashableMem()
	s, err := Open("a/data", Config{FS: killed, Now: clock})
	fatal.If(t, err)
	defer func() { _ = s.Close() }()
	mustApply(t, s, creates(0, n, func(int64) task.Millis { return benchStart }))
	fatal.If(t, claimOne(t.Context(), s, newName(0)))
	for step := 1; ; step++ {
		disk, done := crashAfter(t, cloneDisk(killed), step)
		s, err := Open("a/data", Config{FS: disk, Now: clock})
		if err != nil {
			t.Fatalf("after %d writes: %v", step, err)
		}
		if missing := countMissing(t, s, n); missing > 0 {
			t.Errorf("after %d writes %d tasks are missing", step, missing)
		}
		if entries := peekAll(t, s, benchStart); len(entries) != n {
			t.Errorf("after %d writes the due index has %d entries", step, len(entries))
		}
		fatal.If(t, s.Close())
		if done {
			t.Logf("%d crash points", step)
			return
		}
	}
}

func TestTheFormatOfPebbleFilesHasSyncChunksFromTheFirstLogOn(t *testing.T) {
	disk := vfs.NewMem()
	s := open(t, disk, Config{})
	if v := s.db.FormatMajorVersion(); v < pebble.FormatWALSyncChunks {
		t.Errorf("the format is %v", v)
	}
}
