package contexts

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/fatal"
)

// place gives the test a directory of its own for the file.
func place(t *testing.T) (path string) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir()) // of macOS
	path, err := filePath()
	if err != nil {
		t.Skip(err)
	}
	return path
}

// update changes the file, which must succeed.
func update(t *testing.T, change func(*File)) {
	t.Helper()
	err := Update(func(f *File) error {
		change(f)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Users keep such files in a repository, and link to them.
func TestALinkToTheFileStays(t *testing.T) {
	path := place(t)
	real := filepath.Join(t.TempDir(), "contexts.yaml")
	fatal.If(t, os.MkdirAll(filepath.Dir(path), 0o700))
	if err := errors.Join(os.WriteFile(real, nil, 0o600), os.Symlink(real, path)); err != nil {
		t.Skip(err)
	}
	update(t, func(f *File) { f.Contexts["prod"] = Context{Server: "http://127.0.0.1:1"} })
	if data, err := os.ReadFile(real); err != nil || !strings.Contains(string(data), "prod") {
		t.Errorf("the file behind the link has %q, %v", data, err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
}

func TestAFailedChangeWritesNothing(t *testing.T) {
	place(t)
	update(t, func(f *File) { f.Current = "old" })
	failure := errors.New("failure")
	err := Update(func(f *File) error {
		f.Current = "new"
		return failure
	})
	if f, readErr := Read(); !errors.Is(err, failure) || readErr != nil || f.Current != "old" {
		t.Errorf("%v, %v, current %q", err, readErr, f.Current)
	}
}

func TestAWrittenFileIsReadBackAndPrivate(t *testing.T) {
	path := place(t)
	want := &File{Current: "prod", Contexts: map[string]Context{
		"prod": {Server: "https://foliot.example", Namespace: "shop", TokenFile: "/run/token", CACert: "/etc/ca.pem"},
		"test": {Server: "http://127.0.0.1:8750"},
	}}
	for range 2 { // the second replaces the first
		update(t, func(f *File) { *f = *want })
	}
	got, err := Read()
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("the directory has %v, %v", files, err)
	}
}

func TestWithoutAFileThereAreNoContexts(t *testing.T) {
	place(t)
	f, err := Read()
	if err != nil || len(f.Contexts) != 0 || f.Current != "" {
		t.Errorf("%v, %v", f, err)
	}
}

func TestAFileWithAMistakeIsAnErrorThatNamesIt(t *testing.T) {
	path := place(t)
	fatal.If(t, os.MkdirAll(filepath.Dir(path), 0o700))
	for content, want := range map[string]string{
		"contexts: {a: {servr: http://x}}": "servr",
		"contexts: [":                      path,
		"":                                 "",
	} {
		fatal.If(t, os.WriteFile(path, []byte(content), 0o600))
		_, err := Read()
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", content, err, want)
		}
	}
	fatal.If(t, os.Chmod(path, 0o666))
	if _, err := Read(); err == nil || !strings.Contains(err.Error(), "chmod") {
		t.Errorf("a file that others can write: %v", err)
	}
}

func TestAFileThatCannotBeWrittenIsReportedAtOnce(t *testing.T) {
	path := place(t)
	fatal.If(t, errors.Join(os.MkdirAll(filepath.Dir(filepath.Dir(path)), 0o700), os.WriteFile(filepath.Dir(path), nil, 0o600)))
	if err := Update(func(*File) error { return nil }); err == nil {
		t.Errorf("the directory is a file: %v", err)
	}
}
