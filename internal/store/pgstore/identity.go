package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/store/membership"
	"github.com/foliot/foliot/internal/task"
)

// A store has an identity: a random word, made with its tables. Behind the address there
// can be another store later, after a failover or a restore. A node compares the identity
// with the one that it opened: on each new connection, and in each poll and heartbeat,
// because a pooler or a restore replaces the store behind a connection. If it differs, or
// if the tables are gone, the store is closed until the identity is back.

// identity is the part of a statement that returns the identity.
const identity = `(SELECT coalesce(max(identity), '') FROM foliot.meta)`

// identify reads the values that all nodes of the store share.
func (s *Store) identify(ctx context.Context, db rower) error {
	found, lease := 0, int64(0)
	err := db.QueryRow(ctx, "SELECT format, shards, lease, identity FROM foliot.meta", s.schema).Scan(&found, &s.shards, &lease, &s.id)
	if err == nil && found != Format {
		err = wrongFormat(found)
	}
	s.lease = time.Duration(lease) * time.Millisecond
	return err
}

// recognize compares the identity on a new connection.
func (s *Store) recognize(ctx context.Context, db rower) error {
	found := ""
	err := db.QueryRow(ctx, "SELECT "+identity, s.schema).Scan(&found)
	return s.compare(found, err)
}

// compare closes or opens the store by the identity that a statement returned, or its
// error, and returns an error if the statement had one or if the store is another one.
func (s *Store) compare(found string, err error) error {
	switch {
	case err != nil && code(err) != undefinedTable:
		return err
	case err == nil && found == s.id:
		if s.lost.Load() != nil && s.lost.Swap(nil) != nil {
			s.config.Logger.Info("the store is open again: its data is back, and tasks are sent", "identity", s.id)
		}
		return nil
	case err != nil:
		err = fmt.Errorf("%w: the schema %s has no tables", task.ErrStoreReplaced, s.schema)
	default:
		err = fmt.Errorf("%w: the schema %s has the identity %q", task.ErrStoreReplaced, s.schema, found)
	}
	if s.lost.Swap(&err) == nil {
		if s.member != nil {
			s.member.Doubt() // polls leave out their news until it is open again
		}
		s.config.Logger.Error("the store is closed: requests are refused, and no task is sent", "identity", s.id, "reason", err)
	}
	return err
}

// isLost returns why the store is closed, or nil.
func (s *Store) isLost() error {
	if err := s.lost.Load(); err != nil {
		return *err
	}
	return nil
}

// rollbackBeats is more heartbeats than a usual crash or failover loses: they wait for
// neither the disk nor a standby.
const rollbackBeats = 10

// noteRollback counts a rollback if the last heartbeat of this process in the store is
// rollbackBeats older than the one that it made. Then this process acquires its shards
// again, and so reads the lanes.
func (r registry) noteRollback(found membership.Roster, process string, now task.Millis) {
	kept := task.Millis(0) // of any process, if the store has lost this one
	for _, n := range found {
		if n.About.Process() == process {
			kept = n.Beat
			break
		}
		kept = max(kept, n.Beat)
	}
	by := r.beaten.Sub(kept)
	if by < rollbackBeats*r.heartbeat() || now < r.beaten { // the clock was set back
		return
	}
	r.rollbacks.Add(1)
	r.recovery = ""
	r.config.Logger.Error("the store has older data than before: newer tasks are lost, and newer changes and deliveries are undone",
		"by", by.Round(time.Second).String(), "identity", r.id, "reason", "PostgreSQL was restored from an older copy, or a standby that was behind took over")
}
