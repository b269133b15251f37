package contexts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// place gives the test a directory of its own for the file.
func place(t *testing.T) (path string) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir()) // of macOS
	path, err := Path()
	if err != nil {
		t.Skip(err)
	}
	return path
}

func TestAWrittenFileIsReadBackAndPrivate(t *testing.T) {
	path := place(t)
	want := &File{Current: "prod", Contexts: map[string]Context{
		"prod": {Server: "https://foliot.example", Namespace: "shop", TokenFile: "/run/token", CACert: "/etc/ca.pem"},
		"test": {Server: "http://127.0.0.1:8750"},
	}}
	for range 2 { // the second replaces the first
		if err := want.Write(); err != nil {
			t.Fatal(err)
		}
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
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]string{
		"contexts: {a: {servr: http://x}}": "servr",
		"contexts: [":                      path,
		"":                                 "",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Read()
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", content, err, want)
		}
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(); err == nil || !strings.Contains(err.Error(), "chmod") {
		t.Errorf("a file that others can write: %v", err)
	}
}
