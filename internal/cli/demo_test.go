package cli

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
)

func TestTheDemoLosesNothingAndLeavesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes twenty seconds")
	}
	for name, args := range map[string][]string{"directory": nil, "Redis": {"--store", "redis://" + redistest.New(t).Addr}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			command := foliotCommand(t, append([]string{"demo", "--timers", "1000", "--over", "10s"}, args...)...)
			command.Env = append(command.Env, "TMPDIR="+dir)
			out, err := command.CombinedOutput()
			if err != nil || !regexp.MustCompile(`1,000 created · [1-9]\d* cancelled, 0 sent · [1-9]\d* moved · lost 0 · early 0 · `).Match(out) || !bytes.Contains(out, []byte("\nkill -9 of the server, ")) {
				t.Errorf("%v:\n%s", err, out)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%v are left, %v", left, err)
			}
		})
	}
}

func TestTheDemoRefusesItsFlagsBeforeItWrites(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", ".")
	for _, args := range [][]string{{"--store", "foo"}, {"--store", "memory:"}, {"--store", "redis://127.0.0.1:1?prefix=a"}, {"--timers", "100000", "--over", "99s"}} {
		if _, stderr, code := (&session{t: t}).runBare(append([]string{"demo"}, args...)...); code != exit.Usage || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: it ended with %d: %s", args, code, stderr)
		}
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

func TestTheDemoRefusesARedisWhoseKeysItMayNotRemove(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "users.acl")
	fatal.If(t, os.WriteFile(rules, []byte("user default on nopass ~* &* +@all\nuser scan on >p ~* &* +@all -scan\nuser unlink on >p ~* &* +@all -unlink\n"), 0o600))
	r := redistest.New(t, "--aclfile", rules)
	for _, right := range []string{"scan", "unlink"} {
		out, _ := foliotCommand(t, "demo", "--store", "redis://"+right+":p@"+r.Addr).CombinedOutput() // the text shows the failure
		if text := string(out); !strings.Contains(text, "NOPERM") || strings.Count(text, "\n") != 1 {
			t.Error(text)
		}
	}
	if keys, err := redistest.Command(t.Context(), r.Addr, "DBSIZE"); err != nil || keys != ":0" {
		t.Errorf("%s keys are left, %v", keys, err)
	}
}

func TestAClosedTerminalEndsTheDemoAndItsServer(t *testing.T) {
	dir := t.TempDir()
	p := &process{t: t, cmd: foliotCommand(t, "demo")}
	p.cmd.Env = append(p.cmd.Env, "TMPDIR="+dir)
	stderr, err := p.cmd.StderrPipe()
	fatal.If(t, err)
	fatal.If(t, p.cmd.Start())
	t.Cleanup(p.kill)
	p.stderr = bufio.NewReader(stderr)
	p.await("web page: ")
	p.signal(syscall.SIGHUP)
	if code, log := p.exit(); code != exit.Interrupted {
		t.Errorf("it ended with %d:\n%s", code, log)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}
