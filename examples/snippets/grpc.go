package snippets

import (
	"net"
	"time"

	"github.com/foliot/foliot/idle"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// newGRPC lets gRPC ping, and end connections with GOAWAY.
func newGRPC() *grpc.Server {
	return grpc.NewServer(grpc.KeepaliveParams(keepalive.ServerParameters{
		MaxConnectionIdle: 15 * time.Minute, // without a call
		Time:              time.Minute,      // of silence before a ping
		Timeout:           20 * time.Second, // for the answer
	}))
}

// listenGRPC adds eviction, pressure and a list of silent connections, which
// gRPC does not have. The answers to gRPC's pings are reads, so ReadIdle must
// be longer than Time and Timeout together.
func listenGRPC(l net.Listener) net.Listener {
	conns := idle.New(idle.Config{ReadIdle: 2 * time.Minute, Handshake: 10 * time.Second},
		func(net.Conn, idle.Reason) idle.Verdict { return idle.Close() })
	return idle.NewListener(l, conns)
}
