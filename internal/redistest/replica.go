package redistest

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/quick"
)

// NewReplica starts a server that follows the one at master, which may be a
// Proxy to it. It waits until both report that, and ends the server with the
// test.
func NewReplica(t testing.TB, master string, args ...string) *Server {
	t.Helper()
	quick.Leave(t, "starts a replica")
	Need(t)
	s, err := StartReplica(t.TempDir(), master, args...)
	return s.until(t, err)
}

// StartReplica is NewReplica for a server that keeps its data below dir. The
// caller must kill the result unless it is nil, even if StartReplica returns an
// error.
func StartReplica(dir, master string, args ...string) (*Server, error) {
	host, port, err := net.SplitHostPort(master)
	if err != nil {
		return nil, err
	}
	s, err := Start(dir, append([]string{"--replicaof", host + " " + port, "--repl-ping-replica-period", "1"}, args...)...)
	if err != nil {
		return s, err
	}
	ctx, stop := context.WithTimeout(context.Background(), Patience)
	defer stop()
	return s, Poll(ctx, func(ctx context.Context) error { return s.follows(ctx, master) })
}

// follows returns nil if both sides report that s is a replica of master, in
// step.
func (s *Server) follows(ctx context.Context, master string) error {
	own, err := Command(ctx, s.Addr, "INFO", "replication")
	if err != nil {
		return err
	}
	its, err := Command(ctx, master, "INFO", "replication")
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(master)
	if !containsLine(own, "master_port:"+port) || !containsLine(own, "master_link_status:up") || !strings.Contains(its, "state=online") {
		return fmt.Errorf("the replica at %s does not follow %s:\n%s\n%s", s.Addr, master, own, its)
	}
	return nil
}
