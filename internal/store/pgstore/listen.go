package pgstore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/permits"
)

// Nodes send each other messages on the channel of their schema. No part of the store
// depends on them: a node that misses a message finds the news by its next poll.
type listeners struct {
	nodes atomic.Pointer[func()]
	news  chan struct{} // to the poll
	out   chan string   // messages to send
	hears atomic.Bool   // messages arrive
}

// notifyEvery is the shortest time between two transactions that notify: they take a
// global lock at their commit.
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
			for range len(s.listeners.out) { // no other goroutine receives
				seen[<-s.listeners.out] = true
			}
			err := within(ctx, func(ctx context.Context) error {
				_, err := s.pool.Exec(ctx, "SELECT pg_notify($1, m), set_config('synchronous_commit', 'off', true) FROM unnest($2::text[]) m", s.channel, slices.Sorted(maps.Keys(seen)))
				return err // without a wait for a standby
			})
			if ctx.Err() == nil {
				s.failures.Note("notify the other nodes", err)
			}
			pause(ctx, notifyEvery)
		case <-ctx.Done():
			return
		}
	}
}

// listenAll receives messages, until ctx ends. A pooler that delivers none is not tried
// again, because each LISTEN stays on one of its connections.
func (s *Store) listenAll(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.listen(ctx)
		heard, wait := s.listeners.hears.Swap(false), time.Second
		if ctx.Err() == nil {
			if s.pooled && errors.Is(err, errDeaf) {
				s.config.Logger.Info("a pooler drops the messages of the other nodes: tasks that they create for now can be late by 1.1 s", "reason", err)
				return
			}
			s.failures.Note("listen to the other nodes", err)
			if errors.Is(err, errDeaf) && !heard { // so the next connection is likely to be deaf too
				wait = probeEvery
			}
			pause(ctx, wait)
		}
	}
}

const (
	// probeEvery is how long a connection can be silent before this node sends itself a
	// message, and probeWithin how long that one may take.
	probeEvery, probeWithin = 2 * time.Minute, 5 * time.Second
)

// errDeaf means that no message arrives, although LISTEN succeeded.
var errDeaf = errors.New("PostgreSQL delivers no messages: a pooler in transaction mode drops them, and so does a server that was replaced")

// listen receives messages with a connection of its own, until it fails or is deaf.
func (s *Store) listen(ctx context.Context) error {
	settings := s.pool.Config()
	settings.ConnConfig.OnNotification = nil
	c, err := dial(ctx, settings, string(s.schema))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	if _, err := c.Exec(ctx, "LISTEN "+pgx.Identifier{s.channel}.Sanitize()); err != nil {
		return err
	}
	s.heard("nodes") // there may have been some before
	for probing := true; ; {
		limit := probeEvery
		if probing {
			s.notify("probe")
			limit = probeWithin
		}
		wait, stop := context.WithTimeout(ctx, limit)
		n, err := c.WaitForNotification(wait)
		stop()
		switch {
		case err == nil:
			probing = false
			s.listeners.hears.Store(true)
			s.failures.Note("listen to the other nodes", nil)
			s.heard(n.Payload)
		case ctx.Err() != nil || !pgconn.Timeout(err):
			return err
		case probing:
			return errDeaf
		default:
			probing = true
		}
	}
}

// heard handles a message.
func (s *Store) heard(message string) {
	word, rest, _ := strings.Cut(message, " ")
	switch word {
	case "probe":
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
		s.wakePoll()
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
