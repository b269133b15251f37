package harness

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
	"slices"
	"syscall"
	"time"

	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// Server is one foliot process after another, with the same address and
// directory. One goroutine drives it. Other goroutines may call only KillNow.
type Server struct {
	Binary string // of the next process
	Addr   string
	Listen string // empty means Addr
	Dir    string
	Log    *os.File
	Flags  []string
	Roots  *x509.CertPool      // of its certificate; nil means that it speaks plain HTTP
	Group  *system.MemoryGroup // that its processes belong to; nil means the battery's own

	Cmd *exec.Cmd
}

// NewServer prepares a server in a directory of its own.
func NewServer(binary, dir string, flags ...string) (*Server, error) {
	addr, err := FreeAddr()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &Server{Binary: binary, Addr: addr, Dir: filepath.Join(dir, "data"), Log: log, Flags: flags}, nil
}

// FreeAddr returns a free loopback address. The server uses it again after each
// kill, so it cannot choose one by itself.
func FreeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// profileFile is where a server that was built for it writes a profile.
func (s *Server) profileFile() string { return s.Dir + ".pprof" }

// URL returns the base URL of the server.
func (s *Server) URL() string {
	if s.Roots != nil {
		return "https://" + s.Addr
	}
	return "http://" + s.Addr
}

// Start starts a process. It does not wait until the process answers.
func (s *Server) Start() error {
	args := append([]string{"serve", "--listen", cmp.Or(s.Listen, s.Addr), "--log-level", "warn"}, s.Flags...)
	if !slices.Contains(s.Flags, "--store") {
		args = append(args, "--data", s.Dir)
	}
	s.Cmd = exec.Command(s.Binary, args...)
	s.Cmd.Stdout, s.Cmd.Stderr = s.Log, s.Log
	s.Cmd.SysProcAttr = system.ChildAttributes()
	s.Cmd.Env = append(os.Environ(), profileVariable+"="+s.profileFile())
	if err := s.Cmd.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	return s.Group.Add(s.PID())
}

// Ready waits until the server answers that it is ready, and returns how long
// that took.
func (s *Server) Ready(ctx context.Context, within time.Duration) (time.Duration, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.Roots}}}
	defer web.CloseIdleConnections()
	for {
		if s.probe(ctx, web) {
			return time.Since(began), nil
		}
		if !timing.Pause(ctx, 2*time.Millisecond) {
			return 0, fmt.Errorf("the server was not ready within %v; its log is %s", within, s.Log.Name())
		}
	}
}

func (s *Server) probe(ctx context.Context, web *http.Client) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/readyz", nil)
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

// Run starts the server and waits until it is ready.
func (s *Server) Run(ctx context.Context) error {
	if err := s.Start(); err != nil {
		return err
	}
	_, err := s.Ready(ctx, 20*time.Second)
	return err
}

// KillNow sends SIGKILL and returns the time of the kill. It may be called
// while another goroutine waits for the process.
func (s *Server) KillNow() time.Time {
	_ = s.Cmd.Process.Kill() // it may be dead already, which is fine
	return time.Now()
}

// Reap waits for the process that was killed.
func (s *Server) Reap() { _ = s.Cmd.Wait() }

// Outlast waits until the process has ended, and returns its exit code. If that
// takes longer than within, Outlast kills the process, and alone is false.
func (s *Server) Outlast(ctx context.Context, within time.Duration) (code int, alone bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Cmd.Wait() // the exit code says it
	}()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	select {
	case <-done:
		return s.Cmd.ProcessState.ExitCode(), true
	case <-ctx.Done():
		s.KillNow()
		<-done
		return s.Cmd.ProcessState.ExitCode(), false
	}
}

// Stop ends the server by SIGTERM; it must exit with 0.
func (s *Server) Stop(within time.Duration) error {
	if err := s.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the server: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Cmd.Wait() }()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("stop the server: %w; its log is %s", err, s.Log.Name())
		}
		return nil
	case <-timer.C:
		s.KillNow()
		return fmt.Errorf("the server did not stop within %v: %w", within, <-done)
	}
}

// End makes sure that no process is left.
func (s *Server) End() {
	if s.Cmd != nil && s.Cmd.ProcessState == nil && s.Cmd.Process != nil {
		s.KillNow()
		s.Reap()
	}
	s.Log.Close()
}

// Memory returns the process's resident memory now and at its peak, in bytes.
func (s *Server) Memory() (now, peak int64, err error) { return system.MemoryOf(s.PID()) }

// PID returns the id of the process.
func (s *Server) PID() int { return s.Cmd.Process.Pid }
