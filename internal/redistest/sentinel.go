package redistest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// MasterName is what the sentinels call the master that they watch.
const MasterName = "foliot"

// Sentinels is a master with replicas and the sentinels that watch it.
type Sentinels struct {
	Servers   []*Server // the master as it was made, then its replicas
	Sentinels []*Server
}

// NewSentinels starts a master, two replicas and three sentinels, that take an
// unreachable master for dead after half a second, and ends them with the test.
func NewSentinels(t testing.TB, args ...string) *Sentinels {
	t.Helper()
	Need(t)
	dir, err := os.MkdirTemp("", "foliot-sentinel-")
	if err != nil {
		t.Fatal(err)
	}
	s := &Sentinels{}
	t.Cleanup(func() {
		for _, one := range append(s.Sentinels, s.Servers...) {
			one.Kill()
		}
		_ = os.RemoveAll(dir)
	})
	if err := s.start(dir, args); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *Sentinels) start(dir string, args []string) error {
	args = append([]string{"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"}, args...)
	for i := range 3 {
		own := args
		if i > 0 {
			own = append(args[:len(args):len(args)], "--replicaof", "127.0.0.1 "+strconv.Itoa(s.Servers[0].Port))
		}
		one, err := Start(dir, own...)
		if one != nil {
			s.Servers = append(s.Servers, one)
		}
		if err != nil {
			return err
		}
	}
	for range 3 {
		one, err := s.sentinel(dir)
		if one != nil {
			s.Sentinels = append(s.Sentinels, one)
		}
		if err != nil {
			return err
		}
	}
	return s.await()
}

// sentinel starts one. Its configuration is a file, since it writes to it.
func (s *Sentinels) sentinel(dir string) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	one := &Server{Port: port, Addr: "127.0.0.1:" + strconv.Itoa(port), dir: filepath.Join(dir, strconv.Itoa(port))}
	if err := os.MkdirAll(one.dir, 0o700); err != nil {
		return nil, err
	}
	file := filepath.Join(one.dir, "sentinel.conf")
	text := fmt.Sprintf(`port %d
bind 127.0.0.1
dir %q
sentinel monitor %[3]s 127.0.0.1 %d 2
sentinel down-after-milliseconds %[3]s 500
sentinel failover-timeout %[3]s 3000
`, port, one.dir, MasterName, s.Servers[0].Port)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	one.args = []string{file, "--sentinel"}
	return one, one.Restart()
}

// await waits until every sentinel knows the replicas and the other sentinels:
// before that a failover would not find a successor.
func (s *Sentinels) await() error {
	ctx, stop := context.WithTimeout(context.Background(), 2*patience)
	defer stop()
	for {
		err := s.agreed(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the sentinels did not agree: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *Sentinels) agreed(ctx context.Context) error {
	for _, one := range s.Sentinels {
		out, err := exec.CommandContext(ctx, "redis-cli", "-p", strconv.Itoa(one.Port), "SENTINEL", "CKQUORUM", MasterName).CombinedOutput() //nolint:gosec // our own port
		if err != nil {
			return err
		}
		if want := "OK 3 usable Sentinels."; len(out) < len(want) || string(out[:len(want)]) != want {
			return errors.New(string(out))
		}
	}
	for _, one := range s.Servers[1:] {
		role, err := Command(ctx, one.Addr, "INFO", "replication")
		if err != nil {
			return err
		}
		if !containsLine(role, "master_link_status:up") {
			return fmt.Errorf("the replica at %s is not linked yet", one.Addr)
		}
	}
	return nil
}
