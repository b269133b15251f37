package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
)

// RequireEnv is the variable that turns a missing PostgreSQL into a failure
// instead of a skipped test, as in CI.
const RequireEnv = "FOLIOT_REQUIRE_POSTGRES"

// Need skips the test if no PostgreSQL is installed.
func Need(t testing.TB) {
	t.Helper()
	_, err := Binaries()
	switch {
	case err == nil:
	case os.Getenv(RequireEnv) != "":
		t.Fatalf("%s is set and %v", RequireEnv, err)
	default:
		t.Skip(err)
	}
}

// Binaries returns the directory of PostgreSQL's programs, which Debian does not
// put into PATH. If it has several versions, the newest is used.
func Binaries() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		path, err = filepath.EvalSymlinks(path) // psql lies beside the program, but not always beside a link
		return filepath.Dir(path), err
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/[1-9][0-9]/bin/initdb")
	if len(found) == 0 {
		return "", errors.New("there is no PostgreSQL: install it (Debian: apt-get install postgresql)")
	}
	return filepath.Dir(found[len(found)-1]), nil
}

// Server is a PostgreSQL server, which can be started again after its end, at
// the same address with the same data. The methods that start, pause or end it
// must not be called by two goroutines at the same time.
type Server struct {
	bin, dir, port string
	settings       []string
	attr           *syscall.SysProcAttr
	cmd            *exec.Cmd       // the postmaster, the parent of all other processes
	running        context.Context // ends with cmd
}

// Start starts a server in a new temporary directory, and waits until it
// answers. Settings such as "work_mem=1MB" follow the default ones; for TCP, set
// listen_addresses, and port to a free one. The caller must close the result.
func Start(settings ...string) (*Server, error) {
	bin, err := Binaries()
	if err != nil {
		return nil, err
	}
	// The path of a socket has about 100 bytes at most, so t.TempDir is too long.
	dir, err := os.MkdirTemp("", "foliot-pg")
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir, port: "5432"}
	for _, setting := range append([]string{
		"listen_addresses=", "unix_socket_directories=" + dir, "max_connections=200", "shared_buffers=64MB",
		"dynamic_shared_memory_type=mmap", // files below dir: a killed server would leave files in /dev/shm
	}, settings...) {
		s.settings = append(s.settings, "-c", setting)
		if port, ok := strings.CutPrefix(setting, "port="); ok {
			s.port = port
		}
	}
	if err = s.initialize(); err == nil {
		err = s.Restart()
	}
	for _, database := range []string{"/template1?", "/postgres?"} {
		if err == nil { // as in version 15 and newer
			_, err = Psql(context.Background(), strings.Replace(s.URL(), "/postgres?", database, 1), "SET synchronous_commit = local; REVOKE CREATE ON SCHEMA public FROM PUBLIC")
		}
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

// initialize makes the data, which takes half a second. If the machine fails
// then, the test has failed too, so initdb need not sync.
func (s *Server) initialize() (err error) {
	if s.attr, err = Attributes(s.dir); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), redistest.Patience)
	defer stop()
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "initdb"), "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	cmd.Dir, cmd.SysProcAttr = s.dir, s.attr
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

// New starts a server for a test, and ends it with the test.
func New(t testing.TB, settings ...string) *Server {
	t.Helper()
	Need(t)
	s, err := Start(settings...)
	fatal.If(t, err)
	t.Cleanup(s.Close)
	s.explain(t)
	return s
}

// explain logs the end of the server's log if the test fails.
func (s *Server) explain(t testing.TB) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the log of PostgreSQL:\n%s", s.Log())
		}
	})
}

// URL returns the address of the database postgres for its superuser, through
// the socket.
func (s *Server) URL() string {
	return "postgres://postgres@/postgres?" + url.Values{"host": {s.dir}, "port": {s.port}}.Encode()
}

// Restart starts the server, which must not be running, and waits until it
// answers.
func (s *Server) Restart() error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(filepath.Join(s.bin, "postgres"), append([]string{"-D", s.data()}, s.settings...)...) //nolint:gosec // settings of the test itself
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = s.dir, log, log, s.attr
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	running, ended := context.WithCancel(context.Background())
	s.cmd, s.running = cmd, running
	go func() {
		defer ended()
		_ = cmd.Wait() // its log contains the reason for its end
	}()
	ctx, stop := context.WithTimeout(running, redistest.Patience)
	defer stop()
	if err := redistest.Poll(ctx, s.ping); err != nil {
		s.Kill()
		return fmt.Errorf("start PostgreSQL: %w; its log ends:\n%s", err, s.Log())
	}
	return nil
}

func (s *Server) ping(ctx context.Context) error {
	_, err := Psql(ctx, s.URL(), "SELECT 1")
	return err
}

// Close ends the server, and removes its data.
func (s *Server) Close() {
	s.quit()
	<-s.running.Done()
	_ = os.RemoveAll(s.dir)
}

// signal sends sig to the postmaster alone.
func (s *Server) signal(sig syscall.Signal) { _ = s.cmd.Process.Signal(sig) } // it may have ended

// Log returns the end of the server's log.
func (s *Server) Log() string {
	log := s.FullLog()
	return strings.TrimSpace(log[max(len(log)-2000, 0):])
}

// FullLog returns the server's log.
func (s *Server) FullLog() string {
	data, _ := os.ReadFile(s.logFile())
	return string(data)
}

func (s *Server) data() string    { return filepath.Join(s.dir, "data") }
func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }
