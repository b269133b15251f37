package redisstore

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/redisstore/identity"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// formatMark is the highest format that was passed to raise.
type formatMark struct{ format atomic.Int32 }

func (m *formatMark) raise(format int) {
	for old := m.format.Load(); int(old) < format; old = m.format.Load() {
		if m.format.CompareAndSwap(old, int32(format)) {
			return
		}
	}
}

func (m *formatMark) get() int { return int(m.format.Load()) }

// admitFormat keeps older nodes out before the first record is created that
// they cannot read. Errors: task.ErrUnavailable while such a node is live.
func (s *Store) admitFormat(ctx context.Context, changes []task.Change) error {
	needed := 0
	for _, c := range changes {
		needed = max(needed, formatOf(c))
	}
	if needed <= s.excluded.get() {
		return nil
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.keepOlderOut(ctx, needed); err != nil {
		s.logRefusal(err)
		return s.failure(err)
	}
	s.excluded.raise(needed)
	return nil
}

// refusalEvery is the least time between two lines of logRefusal for a feature.
const refusalEvery = 10 * time.Second

// logRefusal logs which older nodes are the reason why a change was refused. The
// client only learns that the store is unavailable.
func (s *Store) logRefusal(err error) {
	var older *olderNodesError
	if !errors.As(err, &older) {
		return
	}
	if leftOut, write := s.refusals.Add(older.lacks(), time.Now(), 1, refusalEvery); write {
		s.config.Logger.Warn("a change was refused, because live servers of an older version could not read it: upgrade these servers first",
			"nodes", strings.Join(older.nodes, ", "), "needs", older.lacks(), "not_logged_before", leftOut)
	}
}

// formatOf returns the oldest format that reads what a change creates, or 0 if
// all formats do. A change of an existing record cannot give it a kind.
func formatOf(c task.Change) int {
	switch c := c.(type) {
	case task.PutSchedule:
		if c.Spec.Request.Kind != "" {
			return identity.KindFormat
		}
		return identity.ScheduleFormat
	case task.Create:
		if c.Spec.Request.Kind != "" {
			return identity.KindFormat
		}
	case task.Replace:
		if c.Spec.Request.Kind != "" {
			return identity.KindFormat
		}
	}
	return 0
}

// keepOlderOut writes to keyspace.Keys.Meta that code older than format must not
// use the servers. It returns an error if a node with such code is live.
func (s *Store) keepOlderOut(ctx context.Context, format int) error {
	m, err := identity.ReadMeta(ctx, s.servers)
	if err != nil || m.Oldest >= format {
		return err
	}
	if err := s.refuseOlder(ctx, format); err != nil {
		return err
	}
	if err := identity.ShutOut(ctx, s.servers, m, format); err != nil {
		return err
	}
	return s.refuseOlder(ctx, format) // such a node may have joined in between
}

const (
	// guardEvery is the time between two checks of keyspace.Keys.Meta. If its
	// master changes, the check follows at once, because the new master may
	// have lost the last writes.
	guardEvery = time.Minute
	// guardRetry is the wait before a failed check is tried again. guardFor
	// bounds one check, because the other work of the poll waits for it.
	guardRetry = 5 * time.Second
	guardFor   = redisconn.CheckEvery / 3
)

// guard is the schedule of the checks of keyspace.Keys.Meta.
type guard struct {
	addr   string // the address of its master
	next   time.Time
	failed error // why the last check failed, if its server was reachable; it stays until the next check
}

// guardOlder checks at the scheduled times that keyspace.Keys.Meta keeps older
// code out. If a failover has lost that although there are records that older
// code cannot read, guardOlder writes it again. If this node does not know of
// such records yet, guardOlder checks whether another node has created them, and
// guards the key from then on.
func (s *Store) guardOlder(ctx context.Context, g *guard, now time.Time) error {
	addr := s.servers.MasterOf(s.servers.Keys.Meta)
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
	s.excluded.raise(m.Oldest)
	if m.Compact {
		s.compact.Store(true)
	}
	return nil
}

// neededFormat returns the oldest format whose code reads everything that this
// node knows to be in the store.
func (s *Store) neededFormat() int { return max(s.excluded.get(), s.used.get()) }

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
	s.config.Logger.Warn("Redis had lost the setting that keeps out servers of older versions: the setting was written again", "key", s.servers.Keys.Meta, "server", s.servers.MasterOf(s.servers.Keys.Meta))
	s.logOlder(ctx, format)
}

// logOlder logs which live nodes cannot read the format.
func (s *Store) logOlder(ctx context.Context, format int) {
	older, err := s.own.Older(ctx, format)
	if err == nil && len(older) > 0 {
		s.config.Logger.Error("servers of an older version joined, and they cannot read all tasks: stop or upgrade these servers", "nodes", strings.Join(older, ", "))
	}
}

// refuseOlder returns an error if a node whose version cannot read the format
// is live.
func (s *Store) refuseOlder(ctx context.Context, format int) error {
	older, err := s.own.Older(ctx, format)
	if err == nil && len(older) > 0 {
		err = &olderNodesError{format, older}
	}
	return err
}

// olderNodesError reports nodes whose version cannot read a format. It is a
// task.ErrUnavailable, because it ends when these nodes stop.
type olderNodesError struct {
	format int
	nodes  []string
}

// lacks returns the feature that the nodes do not support.
func (e *olderNodesError) lacks() string {
	if e.format >= identity.KindFormat {
		return "tasks with kinds"
	}
	return "schedules"
}

func (e *olderNodesError) Error() string {
	return "servers of an older version, which does not support " + e.lacks() + ", use the same store: upgrade them first: " + strings.Join(e.nodes, ", ")
}

func (*olderNodesError) Unwrap() error { return task.ErrUnavailable }
