package redisstore

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/task"
)

// scheduleFormat is the format that has schedules. Older code cannot read one, and would
// come upon it in its shards again and again. So the first schedule is made only while no
// older node lives, and after metaKey says that none may come: until then versions may run
// side by side, and the way back is open.
const scheduleFormat = 2

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

// keepOlderOut makes metaKey say that older code may not use the servers, unless a node
// that has such is there.
func (s *Store) keepOlderOut(ctx context.Context) error {
	m, err := s.servers.readMeta(ctx, s.config, "")
	if err != nil || m.oldest >= scheduleFormat {
		return err
	}
	if err := s.nobodyOlder(ctx); err != nil {
		return err
	}
	newer := strconv.Itoa(max(m.format, scheduleFormat))
	if _, err := s.servers.one(ctx, func(b rueidis.Builder) rueidis.Completed {
		return b.Hset().Key(metaKey).FieldValue().FieldValue("format", newer).FieldValue("oldest", strconv.Itoa(scheduleFormat)).Build()
	}); err != nil {
		return err
	}
	return s.nobodyOlder(ctx) // nor has one come meanwhile
}

// nobodyOlder returns an error where a node lives that does not know schedules.
func (s *Store) nobodyOlder(ctx context.Context) error {
	peers, now, _, err := s.beat(ctx, looks)
	if err != nil {
		return err
	}
	var older olderNodes
	for _, p := range peers {
		if p.format < scheduleFormat && now.Sub(p.beat) <= s.config.ShardLease {
			older = append(older, p.name)
		}
	}
	if len(older) > 0 {
		return older
	}
	return nil
}

// olderNodes are nodes that do not know schedules, as the error that there are some. It is a
// task.ErrUnavailable: it passes.
type olderNodes []string

func (o olderNodes) Error() string {
	return "servers of an older version, which knows no schedules, work on the same tasks: bring them up to date first: " + strings.Join(o, ", ")
}

func (olderNodes) Unwrap() error { return task.ErrUnavailable }
