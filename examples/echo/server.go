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

// limits are the allowed silences of a connection.
type limits struct {
	idle  time.Duration // between two uses
	first time.Duration // before the first one
}

// serve echoes until ctx ends. Then it closes every connection and waits for
// its handlers. It closes l.
func serve(ctx context.Context, l net.Listener, limit limits) error {
	conns := idle.New(idle.Config{AllIdle: cmp.Or(limit.idle, idle.Never), Handshake: limit.first},
		func(c net.Conn, why idle.Reason) idle.Verdict {
			log.Printf("echo: closing %s: %v", c.RemoteAddr(), why)
			return idle.Close()
		})
	l = idle.NewListener(l, conns)
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()

	var serving sync.WaitGroup
	err := accept(l, conns, func(c net.Conn) {
		serving.Go(func() {
			defer c.Close()
			_, _ = io.Copy(c, c) // ends with the connection; a close by the group was logged above
		})
	})
	_ = conns.Drain(context.Background(), 0) // closes each at once
	serving.Wait()
	conns.Close()
	if ctx.Err() != nil {
		return nil // ended by ctx
	}
	return err
}

// accept passes each connection of l to handle until l is closed. If the server
// runs out of descriptors, it closes some of the connections that were silent
// for longest, and does not refuse new ones.
func accept(l net.Listener, conns *idle.Group[net.Conn], handle func(net.Conn)) error {
	for {
		c, err := l.Accept()
		switch {
		case err == nil:
			handle(c)
		case errors.Is(err, syscall.EMFILE):
			few := max(1, min(16, conns.Len()/4))
			log.Printf("echo: %v: closing the %d idlest of %d connections", err, conns.EvictIdlest(few), conns.Len())
			time.Sleep(10 * time.Millisecond) // other goroutines close the connections
		default:
			return err
		}
	}
}
