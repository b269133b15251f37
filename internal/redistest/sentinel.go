package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
)

// MasterName is the Sentinels' name for the master that they watch.
const MasterName = "foliot"

// Sentinels is a master with replicas and the sentinels that watch it.
type Sentinels struct {
	Servers   []*Server // the first master, then its replicas
	Proxies   []*Proxy  // all traffic to the server of the same place goes through it; empty if not requested
	Sentinels []*Server
}

// NewSentinels starts a master, two replicas and three Sentinels, and ends them
// with the test. The Sentinels take an unreachable master for dead after a
// second and a half.
func NewSentinels(t testing.TB, args ...string) *Sentinels {
	t.Helper()
	return newSentinels(t, nil, args)
}

// newSentinels is NewSentinels with replicas that run in an environment; nil:
// that of this process.
func newSentinels(t testing.TB, env, args []string) *Sentinels {
	t.Helper()
	quick.Leave(t, "starts Sentinels")
	Need(t)
	dir, err := os.MkdirTemp("", "foliot-sentinel-")
	fatal.If(t, err)
	s, err := startSentinels(dir, false, env, args)
	t.Cleanup(func() {
		s.Close()
		_ = os.RemoveAll(dir)
	})
	fatal.If(t, err)
	return s
}

// StartSentinels is NewSentinels for servers that keep their data below dir.
// With proxied, each is behind a proxy, and replicas and Sentinels use the
// address of the proxy. The caller must close the result even if StartSentinels
// returns an error.
func StartSentinels(dir string, proxied bool, args ...string) (*Sentinels, error) {
	return startSentinels(dir, proxied, nil, args)
}

// startSentinels is StartSentinels with replicas that run in an environment;
// nil: that of this process.
func startSentinels(dir string, proxied bool, env, args []string) (*Sentinels, error) {
	s := &Sentinels{}
	for place := range 3 {
		own := env
		if place == 0 {
			own = nil
		}
		if err := s.startServer(dir, proxied, own, args); err != nil {
			return s, err
		}
	}
	for range 3 {
		one, err := s.startSentinel(dir)
		if one != nil {
			s.Sentinels = append(s.Sentinels, one)
		}
		if err != nil {
			return s, err
		}
	}
	return s, s.await()
}

// Addr returns the address of the server of this place, or of its proxy.
func (s *Sentinels) Addr(place int) string {
	if len(s.Proxies) > 0 {
		return s.Proxies[place].Addr
	}
	return s.Servers[place].Addr
}

func (s *Sentinels) Close() {
	for _, one := range append(s.Sentinels, s.Servers...) {
		one.Kill()
	}
	for _, p := range s.Proxies {
		p.Close()
	}
}

// startServer starts the master if there is none, otherwise a replica.
func (s *Sentinels) startServer(dir string, proxied bool, env, args []string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	own := []string{"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"}
	if proxied {
		p, err := StartProxy(net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return err
		}
		s.Proxies = append(s.Proxies, p)
		_, announced, _ := net.SplitHostPort(p.Addr)
		own = append(own, "--replica-announce-ip", "127.0.0.1", "--replica-announce-port", announced)
	}
	if len(s.Servers) > 0 {
		host, port, _ := net.SplitHostPort(s.Addr(0))
		own = append(own, "--replicaof", host+" "+port)
	}
	one, err := startAt(port, dir, env, append(own, args...))
	if one != nil {
		s.Servers = append(s.Servers, one)
	}
	return err
}

// startSentinel starts one Sentinel, whose configuration is a file, because a
// Sentinel writes to it.
func (s *Sentinels) startSentinel(dir string) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	one := &Server{Port: port, Addr: "127.0.0.1:" + strconv.Itoa(port), dir: filepath.Join(dir, strconv.Itoa(port))}
	if err := os.MkdirAll(one.dir, 0o700); err != nil {
		return nil, err
	}
	file := filepath.Join(one.dir, "sentinel.conf")
	// A Sentinel first pings a new master after a second, or after
	// down-after-milliseconds if that is less. If down-after-milliseconds is a
	// second or less, the Sentinel doubts each new master.
	text := fmt.Sprintf(`port %d
bind 127.0.0.1
dir %q
sentinel monitor %[3]s %[4]s 2
sentinel down-after-milliseconds %[3]s 1500
sentinel failover-timeout %[3]s 2000
`, port, one.dir, MasterName, strings.Replace(s.Addr(0), ":", " ", 1))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	one.args = []string{file, "--sentinel"}
	return one, one.Restart()
}

// await waits until Agreed accepts the first master.
func (s *Sentinels) await() error {
	ctx, stop := context.WithTimeout(context.Background(), 2*Patience)
	defer stop()
	if err := Poll(ctx, func(ctx context.Context) error { return s.Agreed(ctx, 0) }); err != nil {
		return fmt.Errorf("the sentinels did not agree: %w", err)
	}
	return nil
}

// Master returns the place of the server that all Sentinels name as the master,
// if the server agrees; otherwise -1.
func (s *Sentinels) Master(ctx context.Context) int {
	place := -1
	for _, one := range s.Sentinels {
		reply, err := exchange(ctx, one.Addr, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", MasterName)
		addr := words(reply)
		if err != nil || len(addr) != 2 {
			return -1
		}
		named := s.place(net.JoinHostPort(addr[0], addr[1]))
		if named < 0 || place >= 0 && named != place {
			return -1
		}
		place = named
	}
	ctx, stop := context.WithTimeout(ctx, tryTime/10) // the server may be stopped
	defer stop()
	if info, err := Command(ctx, s.Servers[place].Addr, "INFO", "replication"); err != nil || !containsLine(info, "role:master") {
		return -1
	}
	return place
}

// Promotions returns how many masters the Sentinels have promoted so far, as
// far as the first of them knows.
func (s *Sentinels) Promotions(ctx context.Context) (int, error) {
	reply, err := exchange(ctx, s.Sentinels[0].Addr, "SENTINEL", "MASTER", MasterName)
	if err != nil {
		return 0, err
	}
	about := words(reply)
	i := slices.Index(about, "config-epoch")
	if i < 0 || i+1 == len(about) {
		return 0, fmt.Errorf("reply to SENTINEL MASTER: %q", reply)
	}
	return strconv.Atoi(about[i+1])
}

// place returns the place of the server whose clients use addr, -1 if there is
// none.
func (s *Sentinels) place(addr string) int {
	for i := range s.Servers {
		if s.Addr(i) == addr {
			return i
		}
	}
	return -1
}

// Agreed returns nil if every Sentinel knows the others, and all servers except
// the master at a place follow that master. Before that, a failover would not
// find a successor.
func (s *Sentinels) Agreed(ctx context.Context, master int) error {
	for _, one := range s.Sentinels {
		out, err := exec.CommandContext(ctx, "redis-cli", "-p", strconv.Itoa(one.Port), "SENTINEL", "CKQUORUM", MasterName).CombinedOutput() //nolint:gosec // our own port
		if err != nil {
			return err
		}
		if !strings.HasPrefix(string(out), "OK 3 usable Sentinels.") {
			return errors.New(string(out))
		}
	}
	for i, one := range s.Servers {
		if i == master {
			continue
		}
		if err := one.follows(ctx, s.Addr(master)); err != nil {
			return err
		}
	}
	return nil
}
