package redisstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/redisstore/identity"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// admitSchedules keeps older nodes out before the first schedule is created.
// Errors: task.ErrUnavailable while a node without schedules is live.
func (s *Store) admitSchedules(ctx context.Context, changes []task.Change) error {
	makes := slices.ContainsFunc(changes, func(c task.Change) bool { _, put := c.(task.PutSchedule); return put })
	if !makes || s.schedules.Load() {
		return nil
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.keepOlderOut(ctx); err != nil {
		return s.failure(err)
	}
	s.schedules.Store(true)
	return nil
}

// keepOlderOut writes to keyspace.MetaKey that older code must not use the
// servers, unless a node with older code is live.
func (s *Store) keepOlderOut(ctx context.Context) error {
	m, err := identity.ReadMeta(ctx, s.servers)
	if err != nil || m.Oldest >= identity.ScheduleFormat {
		return err
	}
	if err := s.refuseOlder(ctx); err != nil {
		return err
	}
	if err := identity.ShutOut(ctx, s.servers, m, identity.ScheduleFormat); err != nil {
		return err
	}
	return s.refuseOlder(ctx) // such a node may have joined in between
}

const (
	// guardEvery is the time between two checks of keyspace.MetaKey. If its
	// master changes, the check follows at once, because the new master may
	// have lost the last writes.
	guardEvery = time.Minute
	// guardRetry is the wait before a failed check is tried again. guardFor
	// bounds one check, because the other work of the poll waits for it.
	guardRetry = 5 * time.Second
	guardFor   = redisconn.CheckEvery / 3
)

// guard is the schedule of the checks of keyspace.MetaKey.
type guard struct {
	addr   string // the address of its master
	next   time.Time
	failed error // why the last check failed, if its server was reachable; it stays until the next check
}

// guardOlder checks at the scheduled times that keyspace.MetaKey keeps older
// code out. If a failover has lost that although there are schedules or compact
// records, guardOlder writes it again. If this node knows neither yet,
// guardOlder checks whether another node has created them, and guards the key
// from then on.
func (s *Store) guardOlder(ctx context.Context, g *guard, now time.Time) error {
	addr := s.servers.MasterOf(keyspace.MetaKey)
	if addr == g.addr && now.Before(g.next) {
		return g.failed
	}
	g.addr, g.next, g.failed = addr, now.Add(guardRetry), nil
	ctx, stop := context.WithTimeout(ctx, guardFor)
	defer stop()
	err := s.checkOlderOut(ctx)
	switch {
	case err == nil:
		g.next = now.Add(guardEvery)
	case !redisconn.Away(err):
		g.failed = err
	}
	return err
}

// checkOlderOut does one check for guardOlder.
func (s *Store) checkOlderOut(ctx context.Context) error {
	m, err := identity.ReadMeta(ctx, s.servers)
	if err != nil {
		return err
	}
	if needed := s.neededFormat(); m.Oldest < needed {
		if err := identity.ShutOut(ctx, s.servers, m, needed); err != nil {
			return err
		}
		m.Oldest = needed
		s.logLostGuard(ctx, needed)
	}
	if m.Oldest >= identity.ScheduleFormat {
		s.schedules.Store(true)
	}
	if m.Oldest >= identity.CompactFormat {
		s.compact.Store(true)
	}
	return nil
}

// neededFormat returns the oldest format whose code reads everything that this
// node knows to be in the store.
func (s *Store) neededFormat() int {
	switch {
	case s.compact.Load():
		return identity.CompactFormat
	case s.schedules.Load() || s.fired.Load():
		return identity.ScheduleFormat
	}
	return 1
}

// form returns the form in which this node writes records and audit entries of
// tasks.
func (s *Store) form() codec.Form {
	if s.compact.Load() {
		return codec.Compact
	}
	return codec.Usual
}

// logLostGuard logs that the guard was missing for some time, and which older
// nodes joined in that time.
func (s *Store) logLostGuard(ctx context.Context, format int) {
	s.config.Logger.Warn("Redis had lost the setting that keeps out servers of older versions: the setting was written again", "key", keyspace.MetaKey, "server", s.servers.MasterOf(keyspace.MetaKey))
	s.logOlder(ctx, format)
}

// logOlder logs which live nodes cannot read the format.
func (s *Store) logOlder(ctx context.Context, format int) {
	older, err := s.own.Older(ctx, format)
	if err == nil && len(older) > 0 {
		s.config.Logger.Error("servers of an older version joined, and they cannot read all tasks: stop or upgrade these servers", "nodes", strings.Join(older, ", "))
	}
}

// refuseOlder returns an error if a node of an older version, which does not
// support schedules, is live.
func (s *Store) refuseOlder(ctx context.Context) error {
	older, err := s.own.Older(ctx, identity.ScheduleFormat)
	if err == nil && len(older) > 0 {
		err = olderNodes(older)
	}
	return err
}

// olderNodes holds the names of nodes whose version does not support schedules.
// It is the error that reports these nodes. It is a task.ErrUnavailable,
// because the error ends when these nodes stop.
type olderNodes []string

func (o olderNodes) Error() string {
	return "servers of an older version, which does not support schedules, use the same store: upgrade them first: " + strings.Join(o, ", ")
}

func (olderNodes) Unwrap() error { return task.ErrUnavailable }
