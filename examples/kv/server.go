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

// listen creates a listener without Multipath TCP, which Go's listeners use if
// they can. The kernel reports only one path of a Multipath TCP connection, so
// such a connection would be closed while it is in use.
func listen(ctx context.Context, address string) (*net.TCPListener, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("only Linux reports when a connection was last used, and this is %s: touch the connections instead, "+
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

// serve answers until ctx ends. Then it closes every connection and waits for
// its handlers. It closes l.
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
	_ = sessions.Drain(context.Background(), 0) // closes each at once
	serving.Wait()
	sessions.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil // ended by ctx
	}
	return err
}
