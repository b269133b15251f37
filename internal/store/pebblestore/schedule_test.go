package pebblestore

import (
	"context"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
	"github.com/foliot/foliot/internal/tasktest"
)

// eachSecond returns a change that creates a schedule. It fires each second
// from benchStart on, and makes up for all missed instants.
func eachSecond(name string, edits ...func(*task.ScheduleSpec)) task.PutSchedule {
	s := task.ScheduleSpec{Spec: newSpec(name, benchStart), Rule: recurrence.Rule{
		Every: time.Second, Start: benchStart + 1000, Missed: recurrence.FireAll, CatchupWindow: task.MaxDuration, CatchupLimit: recurrence.MaxCatchupLimit,
	}}
	for _, edit := range edits {
		edit(&s)
	}
	return task.PutSchedule{Spec: s}
}

func scheduleKey(name string) task.Key { return task.ScheduleKey(task.DefaultNamespace, name) }

// fireOne fires a schedule.
func fireOne(ctx context.Context, s *Store, now task.Millis, name string) (store.Reply, error) {
	replies, err := s.Transit(ctx, now, store.Fires([]task.Fire{{Key: scheduleKey(name)}}))
	if err != nil {
		return store.Reply{}, err
	}
	return replies[0], replies[0].Err
}

// withSchedule gives s a schedule that has fired three times; one of its tasks
// has ended.
func withSchedule(t *testing.T, s *Store) {
	t.Helper()
	mustApply(t, s, []task.Change{eachSecond("nightly")})
	for range 3 {
		if _, err := fireOne(t.Context(), s, benchStart+3000, "nightly"); err != nil {
			t.Fatal(err)
		}
	}
	mustApply(t, s, []task.Change{task.Cancel{Key: tasktest.Key(task.OccurrenceName("nightly", benchStart+1000))}})
}

func TestABackupCountsSchedulesSeparately(t *testing.T) {
	disk := vfs.NewMem()
	s := open(t, disk, Config{Now: clock})
	withSchedule(t, s)
	fatal.If(t, s.Close())
	r, err := verify(t.Context(), disk, "data")
	if err != nil || r.Tasks != 3 || r.Schedules != 1 || len(r.Queues) != 1 || r.Queues[0].Queue != task.DefaultQueue {
		t.Errorf("%v: %+v", err, r.Contents)
	}
}
