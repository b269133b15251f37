package cgo

import (
	"bufio"
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

const (
	tasks    = 40_000 // in each half: their bodies fill several tables
	bodySize = 1500
	patience = 2 * time.Minute
)

func TestBuildsWithAndWithoutCReadTheDirectoriesOfEachOther(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the program twice")
	}
	with, without := build(t, "1"), build(t, "0")
	t.Run("from a build with C to one without", func(t *testing.T) { crossRead(t, with, without) })
	t.Run("from a build without C to one with it", func(t *testing.T) { crossRead(t, without, with) })
}

// build compiles the program, and checks that it has the setting.
func build(t *testing.T, setting string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "foliot-cgo-"+setting)
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, "../../cmd/foliot")
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+setting)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	info, err := buildinfo.ReadFile(program)
	fatal.If(t, err)
	for _, s := range info.Settings {
		if s.Key == "CGO_ENABLED" && s.Value == setting {
			return program
		}
	}
	t.Fatalf("the build has the settings %v", info.Settings)
	return ""
}

// crossRead writes tasks with one program, reads them with the other one, lets
// that one write as many again into the same tables, and reads all with the
// first one.
func crossRead(t *testing.T, one, two string) {
	dir := filepath.Join(t.TempDir(), "data")
	first := serve(t, one, dir)
	first.add("first")
	written := first.export()
	first.stop()
	if len(written) != tasks {
		t.Fatalf("%d tasks were exported, want %d", len(written), tasks)
	}
	compressed(t, dir, tasks*bodySize)

	second := serve(t, two, dir)
	same(t, written, second.export())
	second.add("second")
	written = second.export()
	second.stop()
	if len(written) != 2*tasks {
		t.Fatalf("%d tasks were exported, want %d", len(written), 2*tasks)
	}

	for _, program := range []string{one, two} {
		if out, err := exec.CommandContext(t.Context(), program, "doctor", "data", dir).CombinedOutput(); err != nil {
			t.Errorf("doctor: %v\n%s", err, out)
		}
	}
	third := serve(t, one, dir)
	same(t, written, third.export())
	third.stop()
}

// compressed checks that the bodies are in tables, and that the tables are
// smaller than the bodies.
func compressed(t *testing.T, dir string, bodies int64) {
	t.Helper()
	var size int64
	tables := 0
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".sst" {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			tables, size = tables+1, size+info.Size()
		}
		return err
	})
	fatal.If(t, err)
	if tables == 0 || size < bodies/20 || size > bodies*9/10 {
		t.Fatalf("%d tables hold %d bytes, and the bodies have %d: are they compressed?", tables, size, bodies)
	}
	t.Logf("%d tables hold %d bytes, and the bodies have %d", tables, size, bodies)
}

func same(t *testing.T, want, got []string) {
	t.Helper()
	if slices.Equal(want, got) {
		return
	}
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			t.Fatalf("of %d tasks, %d were read; the first one that differs:\n%.300s\n%.300s", len(want), len(got), want[i], got[i])
		}
	}
	t.Fatalf("of %d tasks, %d were read", len(want), len(got))
}

// server is a process that serves a directory.
type server struct {
	t       *testing.T
	program string
	url     string
	cmd     *exec.Cmd
	log     bytes.Buffer
}

func serve(t *testing.T, program, dir string) *server {
	t.Helper()
	s := &server{t: t, program: program, cmd: exec.Command(program, "serve", "-o", "json", "--data", dir, "--listen", "127.0.0.1:0")}
	s.cmd.Stderr = &s.log
	stdout, err := s.cmd.StdoutPipe()
	fatal.If(t, err)
	fatal.If(t, s.cmd.Start())
	t.Cleanup(func() {
		if s.cmd.ProcessState == nil {
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait() // returns "signal: killed"
		}
	})
	late := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	var reply struct{ URL string }
	if err := json.NewDecoder(stdout).Decode(&reply); err != nil {
		_ = s.cmd.Wait()
		t.Fatalf("%s did not start: %v\n%s", program, err, s.log.String())
	}
	s.url = reply.URL
	return s
}

func (s *server) stop() {
	s.t.Helper()
	late := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	fatal.If(s.t, s.cmd.Process.Signal(syscall.SIGTERM))
	if err := s.cmd.Wait(); err != nil {
		s.t.Fatalf("%s: %v\n%s", s.program, err, s.log.String())
	}
}

// add creates tasks. Their bodies are random sequences of a few words, so each
// algorithm compresses them.
func (s *server) add(prefix string) {
	s.t.Helper()
	file, err := os.Create(filepath.Join(s.t.TempDir(), "tasks.ndjson"))
	fatal.If(s.t, err)
	random := rand.New(rand.NewPCG(1, uint64(len(prefix))))
	words := make([]string, 100)
	for i := range words {
		words[i] = fmt.Sprintf("%016x ", random.Uint64())
	}
	out := bufio.NewWriter(file)
	for i := range tasks {
		var body strings.Builder
		for body.Len() < bodySize {
			body.WriteString(words[random.IntN(len(words))])
		}
		fmt.Fprintf(out, `{"name": "%s-%06d", "delay": "8760h", "http": {"url": "http://127.0.0.1:9/", "body": %q}}`+"\n", prefix, i, body.String())
	}
	fatal.If(s.t, out.Flush())
	fatal.If(s.t, file.Close())
	s.run("import", file.Name())
}

// export returns the tasks as lines, in the order of their names.
func (s *server) export() []string {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "export.ndjson")
	s.run("export", file)
	f, err := os.Open(file)
	fatal.If(s.t, err)
	defer f.Close()
	text, err := io.ReadAll(f)
	fatal.If(s.t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(lines)
	return lines
}

// run runs a command of the program against the server.
func (s *server) run(args ...string) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), s.program, append(args, "--server", s.url)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s\n%s", cmd, err, out, s.log.String())
	}
}
