package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/foliot/foliot/idle"
)

// listen makes the only kind of listener whose connections the kernel knows the ages of. Go's listeners speak Multipath TCP where
// they can, and of such a connection the kernel tells about one path alone: it would be closed while it is in use.
func listen(ctx context.Context, address string) (*net.TCPListener, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("the age of a connection is asked of Linux, and this is %s: touch the connections instead, "+
			"as package idle does by default", runtime.GOOS)
	}
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return l.(*net.TCPListener), nil
}

// serve answers until ctx ends, then closes every connection and waits for what serves them. It closes l.
func serve(ctx context.Context, l *net.TCPListener, silence time.Duration) error {
	sessions := idle.New(idle.Config{AllIdle: cmp.Or(silence, idle.Never), Activity: idle.Kernel},
		func(s *session, why idle.Reason) idle.Verdict {
			log.Printf("kv: closing %s: %v", s.RemoteAddr(), why)
			return idle.Close
		})
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	data := &table{values: map[string]string{}}

	var serving sync.WaitGroup
	var err error
	for {
		var c *net.TCPConn
		if c, err = l.AcceptTCP(); err != nil {
			break
		}
		s := &session{TCPConn: c, data: data}
		if err := sessions.Track(s, &s.watch); err != nil {
			log.Printf("kv: %s is not served: %v", c.RemoteAddr(), err)
			c.Close()
			continue
		}
		serving.Go(func() {
			defer s.Close()
			defer sessions.Untrack(&s.watch)
			s.serve()
		})
	}
	_ = sessions.Drain(context.Background(), 0) // asks to close each, at once
	serving.Wait()
	sessions.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil // asked to end
	}
	return err
}
