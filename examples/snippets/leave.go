package snippets

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/foliot/foliot/idle"
)

//doc:show room

// makeRoom is called every second or so. Up to half of the most connections that there should be, timeouts are as configured; from there on
// they become shorter, down to a tenth; and what is too many goes at once, the idlest first.
func makeRoom(conns *idle.Group[net.Conn], most int) {
	now, half := conns.Len(), most/2
	conns.SetPressure(min(0.9, float64(now-half)/float64(most-half))) // less than 0 is 0
	conns.EvictIdlest(now - most)
}

//doc:end

//doc:show leave

// leave closes the sessions, one after another, within ten seconds; if judge keeps some, it is asked again until a minute is over.
func leave(l net.Listener, sessions *idle.Group[*session]) error {
	l.Close() // first: from the beginning of a drain Track fails, and NewConn and NewListener close what comes
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := sessions.Drain(ctx, 10*time.Second)
	for s := range sessions.All() { // none, unless err says that the minute is over
		s.Close()
	}
	sessions.Close()
	return err
}

//doc:end

//doc:show leavehttp

// leaveHTTP closes what is idle, one after another, within ten seconds, and everything else when its request has been answered. served
// is where the program has sent what Serve returns: here an error that says that l is closed. The program has to wait for leaveHTTP.
func leaveHTTP(l net.Listener, served <-chan error, conns *idle.Group[net.Conn], server *http.Server) error {
	l.Close()
	<-served // or Shutdown might close l, too, and return the error of that
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(conns.Drain(ctx, 10*time.Second), server.Shutdown(ctx))
}

//doc:end
