package snippets

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/foliot/foliot/idle"
)

// makeRoom is called about once a second. Up to half of the highest number of
// connections, timeouts are as configured. Above that they get shorter, down to
// a tenth. If there are too many connections, the idlest are closed at once.
func makeRoom(conns *idle.Group[net.Conn], most int) {
	now, half := conns.Len(), most/2
	conns.SetPressure(min(0.9, float64(now-half)/float64(most-half))) // less than 0 is 0
	conns.EvictIdlest(now - most)
}

// leave closes the sessions one after another within ten seconds. If judge
// keeps some, it is called again until a minute is over.
func leave(l net.Listener, sessions *idle.Group[*session]) error {
	l.Close() // first: during a drain, Track returns ErrClosed and new connections are closed
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := sessions.Drain(ctx, 10*time.Second)
	for s := range sessions.All() { // none, unless the minute is over
		s.Close()
	}
	sessions.Close()
	return err
}

//doc:show leavehttp

// leaveHTTP closes idle connections one after another within ten seconds, and
// the others after their request. served carries the result of Serve: here the
// error that l is closed. The program must wait for leaveHTTP.
func leaveHTTP(l net.Listener, served <-chan error, conns *idle.Group[net.Conn], server *http.Server) error {
	l.Close()
	<-served // otherwise Shutdown might close l too, and return that error
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(conns.Drain(ctx, 10*time.Second), server.Shutdown(ctx))
}

//doc:end
