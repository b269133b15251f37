//go:build unix

package fileaccess

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

// A file with a secret must not stop the server, fill its memory, or come from
// another user.
func TestASecretIsReadOnlyFromAShortFileOrAPipeOfThisUser(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	pipe := func(name string, mode uint32) string {
		fatal.If(t, syscall.Mkfifo(path(name), mode))
		return path(name)
	}
	fatal.If(t, os.WriteFile(path("long"), make([]byte, maxSecret+1), 0o600))
	for file, want := range map[string]string{
		"/dev/zero": "neither a file nor a pipe", "/dev/null": "neither a file nor a pipe",
		path("long"):        "is longer than",
		pipe("idle", 0o600): "no program has written",
		pipe("open", 0o644): "other users may read it",
	} {
		if data, err := Read(file, SecretFile); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d bytes, %v", file, len(data), err)
		}
	}
	for _, self := range []int{0, 1000} {
		if problem, _ := (access{os.ModeNamedPipe | 0o600, 1001}).problem("p", self, SecretFile); !strings.Contains(problem, "another user owns it") {
			t.Errorf("user %d may read a pipe of another user: %q", self, problem)
		}
	}
	r, w, err := os.Pipe() // as a shell makes one for <(command)
	fatal.If(t, err)
	defer r.Close()
	go func() { defer w.Close(); w.WriteString("secret\n") }()
	if data, err := Read(fmt.Sprintf("/dev/fd/%d", r.Fd()), SecretFile); err != nil || string(data) != "secret\n" {
		t.Errorf("a pipe of a shell: %q, %v", data, err)
	}
}
