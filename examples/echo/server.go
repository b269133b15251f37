package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/foliot/foliot/idle"
)

// limits are how long a connection may be silent.
type limits struct {
	idle  time.Duration // between two uses
	first time.Duration // before the first one
}

// serve echoes until ctx ends, then closes every connection and waits for what serves them. It closes l.
func serve(ctx context.Context, l net.Listener, limit limits) error {
	conns := idle.New(idle.Config{AllIdle: cmp.Or(limit.idle, idle.Never), Handshake: limit.first},
		func(c net.Conn, why idle.Reason) idle.Verdict {
			log.Printf("echo: closing %s: %v", c.RemoteAddr(), why)
			return idle.Close
		})
	l = idle.NewListener(l, conns)
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()

	var serving sync.WaitGroup
	err := accept(l, conns, func(c net.Conn) {
		serving.Go(func() {
			defer c.Close()
			_, _ = io.Copy(c, c) // ends with the connection; who ended it, and why, was logged above or is the client's business
		})
	})
	_ = conns.Drain(context.Background(), 0) // asks to close each, at once
	serving.Wait()
	conns.Close()
	if ctx.Err() != nil {
		return nil // asked to end
	}
	return err
}

// accept hands what l accepts to handle, until l is closed. A server that is out of descriptors closes some of those connections
// that were silent for longest, rather than to turn new ones away.
func accept(l net.Listener, conns *idle.Group[net.Conn], handle func(net.Conn)) error {
	for {
		c, err := l.Accept()
		switch {
		case err == nil:
			handle(c)
		case errors.Is(err, syscall.EMFILE):
			few := max(1, min(16, conns.Len()/4))
			log.Printf("echo: %v: %d of %d connections are asked to go, the idlest", err, conns.EvictIdlest(few), conns.Len())
			time.Sleep(10 * time.Millisecond) // they end on goroutines of their own
		default:
			return err
		}
	}
}
