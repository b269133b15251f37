package pgstore

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/permits"
)

// Nodes send each other messages on the channel of their schema. No part of the store
// depends on them: a node that misses a message finds the news by its next poll.
type listeners struct {
	nodes atomic.Pointer[func()]
	news  chan struct{} // to the poll
	out   chan string   // messages to send
}

// notifyEvery is the shortest time between two transactions that notify: they take a
// lock of the whole database at their commit.
const notifyEvery = 50 * time.Millisecond

// notify sends a message, unless too many wait.
func (s *Store) notify(message string) {
	select {
	case s.listeners.out <- message:
	default:
	}
}

// sendAll sends messages, until ctx ends.
func (s *Store) sendAll(ctx context.Context) {
	for {
		select {
		case first := <-s.listeners.out:
			seen := map[string]bool{first: true}
			for more := true; more; {
				select {
				case m := <-s.listeners.out:
					seen[m] = true
				default:
					more = false
				}
			}
			s.note("notify the other nodes", within(ctx, func(ctx context.Context) error {
				_, err := s.pool.Exec(ctx, "SELECT pg_notify($1, m) FROM unnest($2::text[]) m", s.channel, sortedKeys(seen))
				return err
			}))
			pause(ctx, notifyEvery)
		case <-ctx.Done():
			return
		}
	}
}

// listenAll receives messages, until ctx ends.
func (s *Store) listenAll(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.listen(ctx)
		if ctx.Err() == nil {
			s.note("listen to the other nodes", err)
			pause(ctx, time.Second)
		}
	}
}

// listen receives messages with a connection of its own.
func (s *Store) listen(ctx context.Context) error {
	c, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	if _, err := c.Exec(ctx, "LISTEN "+pgx.Identifier{s.channel}.Sanitize()); err != nil {
		return err
	}
	s.note("listen to the other nodes", nil)
	s.heard("nodes")
	for {
		n, err := c.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		s.heard(n.Payload)
	}
}

// heard handles a message.
func (s *Store) heard(message string) {
	word, rest, _ := strings.Cut(message, " ")
	switch word {
	case "nodes":
		if news := s.listeners.nodes.Load(); news != nil {
			(*news)()
		}
	case "permits":
		if process, scope, _ := strings.Cut(rest, " "); process == s.member.Process {
			if scope, ok := permits.ParseName(scope); ok {
				s.Watchers.Permits([]store.PermitScope{scope})
			}
		}
	default:
		select {
		case s.listeners.news <- struct{}{}:
		default:
		}
	}
}

// pause waits for d, or returns false when ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
