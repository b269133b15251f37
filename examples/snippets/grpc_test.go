package snippets

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/foliot/foliot/idle"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
)

// serveGRPC serves on watched connections. It connects a client that makes one
// call and then none.
func serveGRPC(t *testing.T, readIdle time.Duration, options ...grpc.ServerOption) *idle.Group[net.Conn] {
	t.Helper()
	conns := idle.New(idle.Config{ReadIdle: readIdle}, func(net.Conn, idle.Reason) idle.Verdict { return idle.Close() })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(options...)
	healthpb.RegisterHealthServer(server, health.NewServer())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(idle.NewListener(l, conns)) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	client, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := healthpb.NewHealthClient(client).Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	if n := conns.Len(); n != 1 {
		t.Fatalf("%d connections are watched", n)
	}
	return conns
}

func TestAGRPCConnectionWithoutCallsIsClosed(t *testing.T) {
	t.Parallel()
	conns := serveGRPC(t, 300*time.Millisecond)
	eventually(t, "it is closed", func() bool { return conns.Len() == 0 })
}

// The shortest time between pings that gRPC allows is a second.
func TestTheAnswersToGRPCsPingsAreReads(t *testing.T) {
	t.Parallel()
	const readIdle = 2500 * time.Millisecond
	conns := serveGRPC(t, readIdle, grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Second}))
	for end := time.After(2 * readIdle); ; {
		select {
		case <-end:
			return
		case <-time.After(50 * time.Millisecond):
			if conns.Len() != 1 {
				t.Fatal("it was closed")
			}
		}
	}
}
