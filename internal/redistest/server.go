package redistest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

// RequireEnv is the variable that turns a missing redis-server into a failure
// instead of a skipped test, as in CI.
const RequireEnv = "FOLIOT_REQUIRE_REDIS"

// Need skips the test if no redis-server is installed.
func Need(t testing.TB) {
	t.Helper()
	_, err := exec.LookPath("redis-server")
	switch {
	case err == nil:
	case os.Getenv(RequireEnv) != "":
		t.Fatalf("%s is set and there is no redis-server: install it (Debian: apt-get install redis-server)", RequireEnv)
	default:
		t.Skip("there is no redis-server: install it (Debian: apt-get install redis-server) and run this again")
	}
}

// Server is a redis-server process, which can be started again after its end,
// at the same address with the same data. Its methods must not be called by two
// goroutines at the same time.
type Server struct {
	Addr string // host:port
	Port int

	dir  string
	env  []string // nil: that of this process
	args []string
	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
}

// Start starts a server that keeps its data below dir, and waits until it
// answers. args follow the default arguments ("--appendfsync", "always"). The
// caller must kill the result unless it is nil, even if Start returns an error.
func Start(dir string, args ...string) (*Server, error) { return start(dir, nil, args...) }

// start is Start in an environment, or that of this process if env is nil. Another
// process can take the free port first, so start tries several.
func start(dir string, env []string, args ...string) (s *Server, err error) {
	for range 5 {
		var port int
		if port, err = freePort(); err != nil {
			return nil, err
		}
		if s, err = startAt(port, dir, env, args); err == nil || s == nil || !strings.Contains(s.Log(), "Address already in use") {
			return s, err
		}
	}
	return s, err
}

func startAt(port int, dir string, env, args []string) (*Server, error) {
	s := &Server{Port: port, env: env, Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), dir: filepath.Join(dir, strconv.Itoa(port))}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	s.args = append([]string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", s.dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction", "--maxmemory", "1gb", "--daemonize", "no",
	}, args...)
	return s, s.Restart()
}

// New starts a server for a test, and ends it with the test.
func New(t testing.TB, args ...string) *Server {
	t.Helper()
	Need(t)
	s, err := Start(t.TempDir(), args...)
	return s.until(t, err)
}

// until ends s with the test, unless s is nil, and fails the test if err is not
// nil.
func (s *Server) until(t testing.TB, err error) *Server {
	t.Helper()
	if s != nil {
		t.Cleanup(func() {
			s.Kill()
			if t.Failed() {
				t.Logf("the end of the log of the Redis at %s:\n%s", s.Addr, s.Log())
			}
		})
	}
	fatal.If(t, err)
	return s
}

// Restart starts the server, which must not be running, and waits until it
// answers. args are added to the server's own arguments for this time only.
func (s *Server) Restart(args ...string) error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	s.cmd = exec.Command("redis-server", append(s.args[:len(s.args):len(s.args)], args...)...) //nolint:gosec // arguments of the test itself
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.Env = log, log, s.env
	s.cmd.SysProcAttr = ChildAttr()
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start redis-server: %w", err)
	}
	s.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		defer close(done)
		_ = cmd.Wait() // its log contains the reason for its end
	}(s.cmd, s.done)
	if err := s.await(); err != nil {
		s.Kill()
		return fmt.Errorf("the redis-server at %s: %w; its log ends:\n%s", s.Addr, err, s.Log())
	}
	return nil
}

// await waits until the server answers PING with PONG, and no other one that took its port.
func (s *Server) await() error {
	ctx, stop := context.WithTimeout(context.Background(), Patience)
	defer stop()
	for {
		err := s.ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-s.done:
			return errors.New("it ended")
		case <-ctx.Done():
			return fmt.Errorf("it did not answer: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (s *Server) ping(ctx context.Context) error {
	reply, err := Command(ctx, s.Addr, "PING")
	if err == nil && reply != "+PONG" { // "-LOADING …" while it reads its file
		err = errors.New(reply)
	}
	if err != nil {
		return err
	}
	info, err := Info(ctx, s.Addr)
	if err == nil && info["process_id"] != strconv.Itoa(s.cmd.Process.Pid) {
		err = errors.New("another server has its port")
	}
	return err
}

// Kill ends the process like kill -9. Later calls do nothing.
func (s *Server) Kill() { s.signal(syscall.SIGKILL); s.wait() }

// Stop ends the process like an operator, with SIGTERM.
func (s *Server) Stop() { s.signal(syscall.SIGTERM); s.wait() }

func (s *Server) signal(sig syscall.Signal) {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(sig) // it may have ended
	}
}

func (s *Server) wait() {
	if s.done != nil {
		<-s.done
	}
}

// Log returns the end of the server's log.
func (s *Server) Log() string {
	data, _ := os.ReadFile(s.logFile())
	if over := len(data) - 2000; over > 0 {
		data = data[over:]
	}
	return string(bytes.TrimSpace(data))
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

// freePort returns a port without a listener. If another process takes the port
// first, the server ends, and Restart returns an error.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}
