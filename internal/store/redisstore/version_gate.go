package redisstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/store/redisstore/identity"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// admitSchedules sees to that before a schedule is made. Errors: task.ErrUnavailable
// while a node lives that does not know schedules.
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

// keepOlderOut makes keyspace.MetaKey say that older code may not use the servers, unless a node
// that has such is there.
func (s *Store) keepOlderOut(ctx context.Context) error {
	m, err := identity.ReadMeta(ctx, s.servers)
	if err != nil || m.Oldest >= identity.ScheduleFormat {
		return err
	}
	if err := s.nobodyOlder(ctx); err != nil {
		return err
	}
	if err := identity.ShutOut(ctx, s.servers, m); err != nil {
		return err
	}
	return s.nobodyOlder(ctx) // nor has one come meanwhile
}

const (
	// guardEvery is how often keyspace.MetaKey is looked at. It is at once where its master is another
	// one: what the one before had not told it is lost.
	guardEvery = time.Minute
	// guardAgain is how soon that is tried again where it failed, and guardFor how long it may
	// take: what else is polled waits for it.
	guardAgain = 5 * time.Second
	guardFor   = redisconn.LookEvery / 3
)

// guard is when keyspace.MetaKey is to be looked at.
type guard struct {
	addr   string // its master
	next   time.Time
	failed error // why it could not be done, but for a server that is away: it stays so until the next try
}

// guardOlder makes keyspace.MetaKey say again that older code may not use the servers, where there
// are schedules and a failover has lost that. Without any it takes in that another node has made
// the first one: then this one guards it, too.
func (s *Store) guardOlder(ctx context.Context, g *guard, now time.Time) error {
	addr := s.servers.MasterOf(keyspace.MetaKey)
	if addr == g.addr && now.Before(g.next) {
		return g.failed
	}
	g.addr, g.next, g.failed = addr, now.Add(guardAgain), nil
	ctx, stop := context.WithTimeout(ctx, guardFor)
	defer stop()
	err := s.outAgain(ctx)
	switch {
	case err == nil:
		g.next = now.Add(guardEvery)
	case !redisconn.Away(err):
		g.failed = err
	}
	return err
}

// outAgain is guardOlder, when the time has come.
func (s *Store) outAgain(ctx context.Context) error {
	m, err := identity.ReadMeta(ctx, s.servers)
	switch {
	case err != nil:
		return err
	case m.Oldest >= identity.ScheduleFormat:
		s.schedules.Store(true)
	case s.schedules.Load() || s.fired.Load():
		if err := identity.ShutOut(ctx, s.servers, m); err != nil {
			return err
		}
		s.schedules.Store(true)
		s.sayLost(ctx)
	}
	return nil
}

// sayLost logs that older nodes were let in for a while, and which have come.
func (s *Store) sayLost(ctx context.Context) {
	s.config.Logger.Warn("Redis had lost that servers of older versions, which know no schedules, are kept out: they are again", "key", keyspace.MetaKey, "server", s.servers.MasterOf(keyspace.MetaKey))
	var older olderNodes
	if errors.As(s.nobodyOlder(ctx), &older) {
		s.config.Logger.Error("servers of an older version have come meanwhile, and know no schedules: stop them, or bring them up to date", "nodes", strings.Join(older, ", "))
	}
}

// nobodyOlder returns an error where a node lives that does not know schedules.
func (s *Store) nobodyOlder(ctx context.Context) error {
	older, err := s.own.Older(ctx, identity.ScheduleFormat)
	if err == nil && len(older) > 0 {
		err = olderNodes(older)
	}
	return err
}

// olderNodes are nodes that do not know schedules, as the error that there are some. It is a
// task.ErrUnavailable: it passes.
type olderNodes []string

func (o olderNodes) Error() string {
	return "servers of an older version, which knows no schedules, work on the same tasks: bring them up to date first: " + strings.Join(o, ", ")
}

func (olderNodes) Unwrap() error { return task.ErrUnavailable }
