package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// server is one foliot process after another on the same address and
// directory. It is driven by one goroutine; killNow alone may be called by others.
type server struct {
	binary string
	addr   string
	listen string // "": addr
	dir    string
	log    *os.File
	flags  []string
	roots  *x509.CertPool      // of its certificate; nil: it speaks plain HTTP
	group  *system.MemoryGroup // that its processes belong to; nil: the battery's own

	cmd *exec.Cmd
}

// serverPackage is what is driven.
const serverPackage = "github.com/foliot/foliot/cmd/foliot"

// build compiles the binary into dir, with the profiler if that is asked for.
func build(ctx context.Context, dir string, profiled bool) (string, error) {
	path := filepath.Join(dir, "foliot")
	args := []string{"build", "-buildvcs=false", "-o", path}
	if profiled {
		list, err := overlay(dir)
		if err != nil {
			return "", err
		}
		args = append(args, "-overlay", list)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, serverPackage)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	return path, nil
}

// newServer prepares a server in a directory of its own.
func newServer(binary, dir string, flags ...string) (*server, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &server{binary: binary, addr: addr, dir: filepath.Join(dir, "data"), log: log, flags: flags}, nil
}

// freeAddr returns a loopback address that nobody listens on. The server takes
// it again after each kill, so it cannot choose one by itself.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// profileFile is where a server that was built for it writes a profile.
func (s *server) profileFile() string { return s.dir + ".pprof" }

func (s *server) url() string {
	if s.roots != nil {
		return "https://" + s.addr
	}
	return "http://" + s.addr
}

// start begins a process; it does not wait until that answers.
func (s *server) start() error {
	args := append([]string{"serve", "--listen", cmp.Or(s.listen, s.addr), "--data", s.dir, "--log-level", "warn"}, s.flags...)
	s.cmd = exec.Command(s.binary, args...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.SysProcAttr = system.ChildAttributes()
	s.cmd.Env = append(os.Environ(), profileVariable+"="+s.profileFile())
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	return s.group.Add(s.pid())
}

// ready returns when the server answers that it is, and how long that took.
func (s *server) ready(ctx context.Context, within time.Duration) (time.Duration, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.roots}}}
	defer web.CloseIdleConnections()
	for {
		if s.probe(ctx, web) {
			return time.Since(began), nil
		}
		if !timing.Pause(ctx, 2*time.Millisecond) {
			return 0, fmt.Errorf("the server was not ready within %v; its log is %s", within, s.log.Name())
		}
	}
}

func (s *server) probe(ctx context.Context, web *http.Client) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url()+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := web.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// run starts the server and waits until it is ready.
func (s *server) run(ctx context.Context) error {
	if err := s.start(); err != nil {
		return err
	}
	_, err := s.ready(ctx, 20*time.Second)
	return err
}

// killNow sends SIGKILL and returns when that happened, by the clock. It may be
// called while another goroutine waits.
func (s *server) killNow() time.Time {
	_ = s.cmd.Process.Kill() // it may be dead already, which is what is wanted
	return time.Now()
}

// reap waits for the process that was killed.
func (s *server) reap() { _ = s.cmd.Wait() }

// outlast waits until the process has ended, and returns its exit code. If that takes longer
// than within it kills the process, and alone is false.
func (s *server) outlast(ctx context.Context, within time.Duration) (code int, alone bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.cmd.Wait() // the exit code says it
	}()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	select {
	case <-done:
		return s.cmd.ProcessState.ExitCode(), true
	case <-ctx.Done():
		s.killNow()
		<-done
		return s.cmd.ProcessState.ExitCode(), false
	}
}

// stop ends the server by SIGTERM; it must exit with 0.
func (s *server) stop(within time.Duration) error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the server: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- s.cmd.Wait() }()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("stop the server: %w; its log is %s", err, s.log.Name())
		}
		return nil
	case <-timer.C:
		s.killNow()
		return fmt.Errorf("the server did not stop within %v: %w", within, <-done)
	}
}

// end makes sure that no process is left.
func (s *server) end() {
	if s.cmd != nil && s.cmd.ProcessState == nil && s.cmd.Process != nil {
		s.killNow()
		s.reap()
	}
	s.log.Close()
}

// memory returns the process's resident memory now and at its peak, in bytes.
func (s *server) memory() (now, peak int64, err error) { return system.MemoryOf(s.pid()) }

func (s *server) pid() int { return s.cmd.Process.Pid }
