package redistest

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"
)

// NewReplica starts a server that follows the one at master, which may be a Proxy
// to it, waits until both say that it does, and ends it with the test.
func NewReplica(t testing.TB, master string, args ...string) *Server {
	t.Helper()
	host, port, err := net.SplitHostPort(master)
	if err != nil {
		t.Fatal(err)
	}
	s := New(t, append([]string{"--replicaof", host + " " + port, "--repl-ping-replica-period", "1"}, args...)...)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	for {
		info, err := Command(ctx, s.Addr, "INFO", "replication")
		if err == nil && containsLine(info, "master_link_status:up") {
			if info, err = Command(ctx, master, "INFO", "replication"); strings.Contains(info, "state=online") {
				return s
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the replica at %s does not follow %s: %v\n%s", s.Addr, master, err, info)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
