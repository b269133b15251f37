package fileaccess

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/usage"
)

// The rules are those of PostgreSQL: the allowed modes depend on the owner.
func TestAccessOfOtherUsersToAFile(t *testing.T) {
	const me, other, root = 1000, 1001, 0
	for _, c := range []struct {
		mode            fs.FileMode
		owner           int
		keep            Secrecy
		problem, remedy string
	}{
		{0o600, me, SecretFile, "", ""},
		{0o400, me, SecretFile, "", ""},
		{0o700, me, SecretFile, "", ""},
		{0o640, me, SecretFile, "read", "chmod 600 f"},
		{0o604, me, SecretFile, "read", "chmod 600 f"},
		{0o620, me, SecretFile, "write", "chmod 600 f"},
		{0o602, me, SecretFile, "write", "chmod 600 f"},
		{0o640, root, SecretFile, "", ""},
		{0o440, root, SecretFile, "", ""},
		{0o644, root, SecretFile, "read", "chmod 640 f"},
		{0o660, root, SecretFile, "write", "chmod 640 f"},
		{0o600, other, SecretFile, "owns", "&& chmod 600 f"},
		{0o644, me, Unaltered, "", ""},
		{0o644, root, Unaltered, "", ""},
		{0o664, me, Unaltered, "write", "chmod go-w f"},
		{0o646, root, Unaltered, "write", "chmod go-w f"},
		{0o644, other, Unaltered, "owns", "chown "},
		{0o700, me, SecretDir, "", ""},
		{0o750, me, SecretDir, "read", "chmod 700 f"},
		{0o701, me, SecretDir, "read", "chmod 700 f"},
		{0o770, me, SecretDir, "write", "chmod 700 f"},
		{0o755, root, SecretDir, "read", "chmod 700 f"},
		{0o700, other, SecretDir, "owns", "chown -R "},
		{fs.ModeSticky | 0o777, me, SecretDir, "write", "chmod 700 f"},
	} {
		problem, remedy := access{c.mode, c.owner}.problem("f", me, c.keep)
		if (problem == "") != (c.problem == "") || !strings.Contains(problem, c.problem) || !strings.Contains(remedy, c.remedy) && problem != "" {
			t.Errorf("%v of %d, kind %d: %q, %q", c.mode, c.owner, c.keep, problem, remedy)
		}
		if problem, _ := (access{c.mode, other}).problem("f", root, c.keep); strings.Contains(problem, "owns") {
			t.Errorf("root must own a file: %s", problem)
		}
	}
}

func TestADirectoryThatCannotBeUsedIsReportedWithItsOwner(t *testing.T) {
	dir, self := t.TempDir(), userName(os.Geteuid())
	file := filepath.Join(dir, "file")
	fatal.If(t, os.WriteFile(file, nil, 0o600))
	fresh := filepath.Join(dir, "a", "b")
	for _, c := range []struct {
		dir     string
		refused error // why this process may not write; nil if it may
		says    []string
	}{
		{dir, nil, nil},
		{fresh, nil, nil},
		{file, nil, []string{file + " is a file"}},
		{filepath.Join(file, "x"), nil, []string{"cannot be created", file + " is a file"}},
		{dir, syscall.EACCES, []string{dir + " belongs to " + self, "runs as " + self, "Name another directory"}},
		{fresh, syscall.EACCES, []string{fresh + " cannot be created", dir + " belongs to " + self, "`install -d -m 700 -o " + self + " " + fresh + "`"}},
	} {
		problem := placeProblem(c.dir, func(string) error { return c.refused })
		if (problem == "") != (c.says == nil) {
			t.Errorf("%s: %q", c.dir, problem)
		}
		for _, words := range c.says {
			if !strings.Contains(problem, words) {
				t.Errorf("%s: %q does not contain %q", c.dir, problem, words)
			}
		}
	}
}

// The files of another program must keep their owner. No remedy may be a command
// that changes the owner of a system directory.
func TestOnlyAnEmptyDirectoryOrAStoreIsAdvisedToChangeItsOwner(t *testing.T) {
	refused := func(string) error { return syscall.EACCES }
	empty, store, foreign := t.TempDir(), t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(store, "FOLIOT"), filepath.Join(store, "x.sst"), filepath.Join(foreign, "passwd")} {
		fatal.If(t, os.WriteFile(path, nil, 0o600))
	}
	for dir, advised := range map[string]bool{empty: true, store: true, foreign: false, "/": false} {
		problem := placeProblem(dir, refused)
		if strings.Contains(problem, "chown -R ") != advised || !strings.Contains(problem, "ame another directory") {
			t.Errorf("%s: %q", dir, problem)
		}
	}
	// A hidden directory may exist, and install -d would change its owner.
	if remedy := placeRemedy("/hidden/store", "alice", "root", false); strings.Contains(remedy, "`") {
		t.Errorf("a hidden directory: %q", remedy)
	}
}

// Files of root in the store of a service's user stop the service.
func TestRootWritesToNoStoreOfAnotherUser(t *testing.T) {
	const root, me, other = 0, 1000, 1001
	empty, store, foreign := t.TempDir(), t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(store, "FOLIOT"), filepath.Join(foreign, "passwd")} {
		fatal.If(t, os.WriteFile(path, nil, 0o600))
	}
	for _, c := range []struct {
		dir         string
		owner, self int
		refused     bool
	}{
		{store, other, root, true},
		{empty, other, root, true},
		{foreign, other, root, false}, // the store refuses it, and its owner must not change
		{store, root, root, false},
		{store, me, me, false},
	} {
		problem := rootProblem(c.dir, c.owner, c.self)
		if (problem != "") != c.refused {
			t.Errorf("%s of %d for %d: %q", c.dir, c.owner, c.self, problem)
		}
		if c.refused && (!strings.Contains(problem, "`sudo -u 1001`") || !strings.Contains(problem, "`chown -R root "+c.dir+"`")) {
			t.Errorf("no remedy: %q", problem)
		}
	}
}

// placed returns the text of Placed for a file that may not be opened.
func placed(t *testing.T, path string) string {
	t.Helper()
	var invalid *usage.Error
	err := Placed("--data", fmt.Errorf("open the data directory: %w", &fs.PathError{Op: "open", Path: path, Err: syscall.EACCES}))
	if !errors.As(err, &invalid) {
		t.Errorf("%s: %v", path, err)
	}
	return err.Error()
}

// A command that ran as root may have left such a file.
func TestAFileOfAStoreThatMayNotBeOpenedHasARemedy(t *testing.T) {
	store := t.TempDir()
	fatal.If(t, os.WriteFile(filepath.Join(store, "FOLIOT"), nil, 0o600))
	if got := placed(t, filepath.Join(store, "MANIFEST-000029")); !strings.Contains(got, "run the command as the user that owns the store") {
		t.Error(got)
	}
	if other := errors.New("the disk is full"); Placed("--data", other) != other { //nolint:errorlint // it must be this error
		t.Error("another error changed")
	}
}

func TestAReadOnlyFileSystemIsNamedAndNotItsOwner(t *testing.T) {
	dir := t.TempDir()
	for _, place := range []string{dir, filepath.Join(dir, "a")} {
		problem := placeProblem(place, func(string) error { return syscall.EROFS })
		if !strings.Contains(problem, dir+" is on a read-only file system") || strings.Contains(problem, "chown") || strings.Contains(problem, "belongs") {
			t.Errorf("%s: %q", place, problem)
		}
	}
}
