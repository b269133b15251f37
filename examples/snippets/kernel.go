package snippets

import (
	"context"
	"net"
	"time"

	"github.com/foliot/foliot/idle"
)

// listenPlain listens without Multipath TCP, which Go's listeners use by
// default.
func listenPlain(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	return config.Listen(ctx, "tcp", address)
}

// watchByKernel watches connections without touches: those of listenPlain, or
// *tls.Conn over them.
func watchByKernel() *idle.Group[net.Conn] {
	return idle.New(idle.Config{AllIdle: 5 * time.Minute, Activity: idle.Kernel},
		func(net.Conn, idle.Reason) idle.Verdict { return idle.Close() })
}

func track(conns *idle.Group[net.Conn], c net.Conn) (*idle.Entry, error) {
	watch := new(idle.Entry)
	return watch, conns.Track(c, watch) // the error says why the kernel cannot report on c
}
