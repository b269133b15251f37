package cli

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
)

// The test runs the commands of docs/redis.md with other ports.
func TestThreeServersOnOneMachineAsTheDocsSay(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for the end of a dead server's lease")
	}
	redistest.Need(t)
	script := typed(t, "../../docs/redis.md", "## Three servers on one machine\n")
	for _, port := range []string{"6390", "8751", "8752", "8753", "9000"} {
		script = strings.ReplaceAll(script, port, freePort(t))
	}
	// No process must survive a failure.
	out, err := shell(t, "redis-cli")("trap 'kill -9 $(jobs -p) 2>/dev/null || true' EXIT\n" + script)
	if t.Logf("%s", out); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 9; i++ {
		for _, name := range []string{" task-", " again-"} {
			if n := strings.Count(out, name+strconv.Itoa(i)+" attempt 1 "); n != 1 {
				t.Errorf("%s%d arrived %d times", name, i, n)
			}
		}
	}
}

// shell returns a function that runs a script, in which foliot is this binary.
// The test is skipped if bash or one of the tools is missing.
func shell(t *testing.T, tools ...string) func(script string, env ...string) (out string, err error) {
	t.Helper()
	for _, tool := range append(tools, "bash") {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("there is no", tool)
		}
	}
	self, err := os.Executable()
	fatal.If(t, err)
	dir := t.TempDir()
	fatal.If(t, os.WriteFile(filepath.Join(dir, "foliot"), []byte("#!/bin/sh\nexec '"+self+"' \"$@\"\n"), 0o700))
	return func(script string, env ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", script)
		cmd.Dir, cmd.WaitDelay = dir, time.Second
		cmd.Env = append(append(os.Environ(), asBinary+"=1", "PATH="+dir+":"+os.Getenv("PATH")), env...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
}

// typed returns the commands below a heading of a page.
func typed(t *testing.T, page, heading string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	fatal.If(t, err)
	_, section, found := strings.Cut(string(text), heading)
	if !found {
		t.Fatalf("%s has no %q", page, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var b strings.Builder
	for {
		_, rest, more := strings.Cut(section, "```sh\n")
		if !more {
			return b.String()
		}
		code, after, _ := strings.Cut(rest, "```")
		b.WriteString(code)
		section = after
	}
}

// freePort returns a port that no process listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
