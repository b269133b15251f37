package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

const root = "../.."

// binary is the path of foliot, built for these tests.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv("FOLIOT_CLIENTS") == "" {
		fmt.Fprintln(os.Stderr, "SKIPPED: the client packages are not tested, because that downloads packages of npm: run make clients-test")
		return 0
	}
	dir, err := os.MkdirTemp("", "foliot-clients-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "foliot")
	build := exec.Command("go", "build", "-buildvcs=true", "-o", binary, "./cmd/foliot") // the version comes from the tags
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "cannot build foliot: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// command runs a program in a directory and returns its standard output. The
// variables come in addition to those of this process.
func command(t *testing.T, dir string, variables []string, name string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = append(environment(), variables...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// environment returns the variables of this process, without settings of foliot.
func environment() []string {
	var kept []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "FOLIOT_") {
			kept = append(kept, v)
		}
	}
	return kept
}

// tool returns the path of a program. Without it, it skips the test.
func tool(t *testing.T, name, remedy string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not on PATH, so this package is not tested: %s", name, remedy)
	}
	return path
}

// sources copies the sources of a package to a fresh directory, so that no result
// of an earlier build can pass for one of this test.
func sources(t *testing.T, name string) string {
	t.Helper()
	from, to := filepath.Join(root, "clients", name), t.TempDir()
	for _, part := range []string{"src", "test", "tests"} {
		if _, err := os.Stat(filepath.Join(from, part)); err != nil {
			continue
		}
		fatal.If(t, os.CopyFS(filepath.Join(to, part), os.DirFS(filepath.Join(from, part))))
	}
	files, err := os.ReadDir(from)
	fatal.If(t, err)
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, f.Name()))
		fatal.If(t, err)
		save(t, filepath.Join(to, f.Name()), string(text))
	}
	return to
}

func save(t *testing.T, path, text string) {
	t.Helper()
	fatal.If(t, os.WriteFile(path, []byte(text), 0o600))
}

// one returns the only file that matches a pattern.
func one(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s in %s: %q, %v", pattern, dir, found, err)
	}
	return found[0]
}

// example returns the program of a README, and the output that it claims.
func example(t *testing.T, name, language string) (program, output string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "clients", name, "README.md"))
	fatal.If(t, err)
	found := regexp.MustCompile("(?s)```" + language + "\n(.*?)```\n\nIt prints:\n\n```\n(.*?)```\n").FindStringSubmatch(string(text))
	if found == nil {
		t.Fatalf("the README of %s has no program in %s with its output", name, language)
	}
	return found[1], found[2]
}

// serve starts a server with a signing secret until the test ends. It returns the
// variables that the programs of the READMEs need.
func serve(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command(binary, "serve", "-o", "json", "--listen", "127.0.0.1:0", "--store", "memory:")
	cmd.Env, cmd.Stderr = environment(), os.Stderr
	stdout, err := cmd.StdoutPipe()
	fatal.If(t, err)
	fatal.If(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // an error means that it has ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("foliot serve ended: %v", err)
		}
	})
	var says struct{ URL string }
	if err := json.NewDecoder(stdout).Decode(&says); err != nil {
		t.Fatalf("foliot serve does not print its address: %v", err)
	}
	server := "FOLIOT_SERVER=" + says.URL
	secret := command(t, ".", []string{server}, binary, "secret", "create")
	variables := []string{server, "WEBHOOK_SECRET=" + strings.TrimSpace(secret)}
	command(t, ".", variables, binary, "ls") // the command refuses unknown variables that begin with FOLIOT_
	return variables
}
