package formats

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
)

// each calls test for each format that has a file in testdata.
func each(t *testing.T, kind, end string, test func(t *testing.T, format, file string)) {
	t.Helper()
	files, err := filepath.Glob("testdata/" + kind + "-*" + end)
	if err != nil || len(files) == 0 {
		t.Fatal("no files: ", err)
	}
	for _, file := range files {
		format := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), kind+"-"), end)
		t.Run(format, func(t *testing.T) { test(t, format, file) })
	}
}

// gunzipped returns the content of a file, and closes the file with the test.
func gunzipped(t *testing.T, file string) io.Reader {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// unpacked returns a directory with the files of an archive.
func unpacked(t *testing.T, file string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	for archive := tar.NewReader(gunzipped(t, file)); ; {
		h, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return dir
		case err != nil:
			t.Fatal(err)
		case h.Typeflag == tar.TypeDir:
			err = os.MkdirAll(filepath.Join(dir, h.Name), 0o700) //nolint:gosec // our own archive
		default:
			var data []byte
			if data, err = io.ReadAll(archive); err == nil {
				err = os.WriteFile(filepath.Join(dir, h.Name), data, 0o600) //nolint:gosec // our own archive
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// openDirectory opens a directory soon after its last change. It removes no
// records: their retention has not ended.
func openDirectory(t *testing.T, dir string, at time.Time) *pebblestore.Store {
	t.Helper()
	s, err := pebblestore.Open(dir, pebblestore.Config{Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// takenBack changes the running tasks of a list as the start of a directory does
// after a crash: their attempts were lost, and they are due again.
func takenBack(list []*record, opened []*record) {
	now := map[string]*record{}
	for _, r := range opened {
		now[r.key()] = r
	}
	for _, r := range list {
		if is := now[r.key()]; r.State == "running" && is != nil && len(is.Attempts) == 1 && is.Attempts[0].Status == 0 {
			r.State, r.Due, r.Attempts = "scheduled", is.Due, is.Attempts
		}
	}
}

func wantSame(t *testing.T, s store.Store, want []*record) {
	t.Helper()
	if d := cmp.Diff(sorted(want), sorted(readStore(t, s)), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("the records differ from those that the old version listed (-old, +now):\n%s", d)
	}
}

// wantWhole fails the test if a scrub finds a broken record, or an index differs.
func wantWhole(t *testing.T, s store.Store, at time.Time) {
	t.Helper()
	if found := scrub(t, s, at); len(found) > 0 {
		t.Errorf("repaired %+v", found)
	}
	storetest.CheckInvariants(t, s, task.FloorMillis(at), task.DefaultNamespace, "acme")
}

// scrub examines a whole store and returns the repairs.
func scrub(t *testing.T, s store.Store, at time.Time) (repairs []store.Repair) {
	t.Helper()
	scrubber, is := s.(store.Scrubber)
	if !is {
		t.Fatalf("%T cannot scrub", s)
	}
	for after := ""; ; {
		found, err := scrubber.Scrub(t.Context(), task.FloorMillis(at), after, 100)
		if err != nil {
			t.Fatal(err)
		}
		repairs = append(repairs, found.Repairs...)
		if after = found.Next; after == "" {
			return repairs
		}
	}
}

func TestADirectoryOfEachFormatOpensWithAllItsRecords(t *testing.T) {
	each(t, "directory", ".tar.gz", func(t *testing.T, format, file string) {
		want := readList(t, "testdata/directory-"+format+".jsonl")
		dir, at := unpacked(t, file), newest(t, want)
		s := openDirectory(t, dir, at)
		takenBack(want, readStore(t, s))
		wantSame(t, s, want)
		wantWhole(t, s, at)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openDirectory(t, dir, at)
		wantSame(t, s, want)
		wantWhole(t, s, at)
	})
}

func TestABackupOfEachFormatIsRestoredWithAllItsRecords(t *testing.T) {
	each(t, "backup", ".tar.gz", func(t *testing.T, format, file string) {
		var want []*record
		for _, r := range readList(t, "testdata/directory-"+format+".jsonl") {
			if r.Name != "running" && r.Name != "last" { // created after the backup
				want = append(want, r)
			}
		}
		dir, at := filepath.Join(t.TempDir(), "data"), newest(t, want)
		if _, err := pebblestore.Restore(t.Context(), gunzipped(t, file), dir, nil); err != nil {
			t.Fatal(err)
		}
		s := openDirectory(t, dir, at)
		wantSame(t, s, want)
		wantWhole(t, s, at)
	})
}

func TestTheFormatOfThisVersionHasADirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := openDirectory(t, dir, time.Now()).Close(); err != nil {
		t.Fatal(err)
	}
	r, err := pebblestore.Verify(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, fmt.Sprintf("testdata/directory-%d.tar.gz", r.Format))
}

func TestTheUpgradePageListsTheFormatsOfTheGoldenStores(t *testing.T) {
	page, err := os.ReadFile("../../docs/upgrade.md")
	if err != nil {
		t.Fatal(err)
	}
	for row, end := range map[string]string{
		"| data directory (file `FOLIOT`) | ": "directory-*.tar.gz",
		"| backup (`foliot backup`) | ":       "backup-*.tar.gz",
		"| Redis (key `foliot:meta`) | ":      "redis-*.rdb",
	} {
		files, err := filepath.Glob("testdata/" + end)
		if err != nil {
			t.Fatal(err)
		}
		var formats []string
		for _, file := range files {
			_, format, _ := strings.Cut(filepath.Base(file), "-")
			format, _, _ = strings.Cut(format, ".")
			formats = append(formats, format)
		}
		if want := row + strings.Join(formats, ", ") + " |"; !strings.Contains(string(page), want) {
			t.Errorf("docs/upgrade.md lacks %q", want)
		}
	}
}

// wantFile fails the test if a golden store is missing.
func wantFile(t *testing.T, file string) {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		t.Errorf("%s is missing: run test/formats/make.sh with the binary that writes this format", file)
	}
}
