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

// leave closes one session after another for ten seconds, the idlest first, and those that judge has kept once more until a minute is over.
func leave(l net.Listener, sessions *idle.Group[*session]) error {
	l.Close() // first: from the beginning of a drain Track fails, and Wrap and Listener close what comes
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

// leaveHTTP closes what is idle for ten seconds, one after another, and everything else when its request has been answered. Serve returns
// at once, with net.ErrClosed: wait for leaveHTTP before the program ends.
func leaveHTTP(l net.Listener, conns *idle.Group[net.Conn], server *http.Server) error {
	l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(conns.Drain(ctx, 10*time.Second), server.Shutdown(ctx))
}

//doc:end
