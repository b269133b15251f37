package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
	"github.com/foliot/foliot/internal/tasktest"
)

// eachSecond returns a change that creates a schedule. It fires each second
// from benchStart on, and makes up for all missed instants.
func eachSecond(name string, edits ...func(*task.ScheduleSpec)) task.PutSchedule {
	s := task.ScheduleSpec{Spec: newSpec(name, benchStart), Rule: recurrence.Rule{
		Every: time.Second, Start: benchStart + 1000, Misfire: recurrence.FireAll, CatchupWindow: task.MaxDuration, CatchupLimit: recurrence.MaxCatchupLimit,
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

func TestAScrubCountsUnfinishedOccurrences(t *testing.T) {
	disk := vfs.NewMem()
	s := open(t, disk, Config{Now: clock})
	withSchedule(t, s)
	wantHealthy(t, s)
	wrong := appendCounts(nil, task.Counts{States: [len(task.Counts{}.States)]int64{task.Scheduled: 7}})
	fatal.If(t, errors.Join(s.db.Set(appendCountKey(nil, scheduleKey("nightly").UnfinishedCounter()), wrong, pebble.Sync), s.Close()))
	if r, err := verify(t.Context(), disk, "data"); err != nil || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "map[scheduled:7]") || strings.Contains(r.Problems[0], "Queue:"+task.DefaultQueue) {
		t.Errorf("Verify: %v, problems %q", err, r.Problems)
	}
	s = open(t, disk, Config{Now: clock})
	repairs, _ := scrubAll(t, s, benchStart, 100)
	if len(repairs) != 1 || repairs[0].Found != `the number of unfinished tasks of schedule "nightly" was wrong` {
		t.Errorf("repaired %+v", repairs)
	}
	wantHealthy(t, s)

	b := s.db.NewBatch()
	dropIndex(s, b, "@nightly")
	fatal.If(t, s.db.Apply(b, pebble.Sync))
	if repairs, _ = scrubAll(t, s, benchStart, 100); len(repairs) != 1 || repairs[0].Key.Name != "@nightly" {
		t.Errorf("repaired %+v", repairs)
	}
	wantHealthy(t, s)
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

// TestAPowerLossLeavesAnInstantsTaskAndItsScheduleOrNeither cuts the power
// while schedules fire, and continues with the disk after that. No confirmed
// instant is lost. No instant has a task that its schedule does not know, or
// the reverse.
func TestAPowerLossLeavesAnInstantsTaskAndItsScheduleOrNeither(t *testing.T) {
	const schedules = 6
	fired := 0
	for seed := range seeds(t) {
		rng := rand.New(rand.NewPCG(seed, 7))
		disk := vfs.NewCrashableMem()
		answered := make([]int64, schedules)
		for range crashes {
			disk = fireUntilPowerLoss(t, disk, rng, answered)
			s, err := Open("data", Config{FS: disk, Policy: storetest.Policy, MemTableSize: 256 << 10})
			if err != nil {
				t.Fatalf("seed %d: open after the power failed: %v", seed, err)
			}
			for i := range answered {
				n, err := firedOf(t.Context(), s, fmt.Sprintf("s%d", i))
				if err != nil || n < answered[i] {
					t.Errorf("seed %d, schedule %d: %d instants were fired, %d answered: %v", seed, i, n, answered[i], err)
				}
				answered[i], fired = n, fired+int(n)
			}
			wantExactCounts(t, s)
			storetest.CheckInvariants(t, s, benchStart, task.DefaultNamespace)
			fatal.If(t, s.Close())
		}
	}
	t.Logf("%d seeds, %d crash points, %d instants", seeds(t), seeds(t)*crashes, fired)
}

// fireUntilPowerLoss fires schedules until the power fails. It returns the disk
// after that. answered is how many instants of each schedule were confirmed.
func fireUntilPowerLoss(t *testing.T, disk *vfs.MemFS, rng *rand.Rand, answered []int64) *vfs.MemFS {
	t.Helper()
	s := open(t, slowSync(disk, rng.Uint64()), Config{MemTableSize: 256 << 10})
	defer func() { _ = s.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex // guards answered, which must not change after the power has failed
	frozen := false
	var running sync.WaitGroup
	answers := make(chan struct{})
	for i := range answered {
		running.Go(func() {
			name := fmt.Sprintf("s%d", i)
			if answered[i] == 0 {
				if err := apply(ctx, s, eachSecond(name)); err != nil {
					return
				}
			}
			for ctx.Err() == nil {
				if r, err := fireOne(ctx, s, benchStart+5e6, name); err != nil || r.Spawned == nil {
					return
				}
				mu.Lock()
				if !frozen {
					answered[i]++
				}
				mu.Unlock()
				select {
				case answers <- struct{}{}:
				case <-ctx.Done():
				}
			}
		})
	}
	for range 1 + rng.IntN(200) {
		<-answers
	}
	mu.Lock()
	crashed := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rand.New(rand.NewPCG(rng.Uint64(), 0))})
	frozen = true
	mu.Unlock()
	cancel()
	running.Wait()
	return crashed
}

// firedOf returns how many instants of a schedule were fired. It returns an
// error if the schedule and the tasks do not agree: there must be one task for
// each instant from the first on.
func firedOf(ctx context.Context, s *Store, name string) (int64, error) {
	record, err := s.Get(ctx, scheduleKey(name))
	if errors.Is(err, task.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	runs := record.Recur.Runs
	for i := range runs + 1 {
		t, err := s.Get(ctx, tasktest.Key(task.OccurrenceName(name, benchStart+1000+task.Millis(i)*1000)))
		switch {
		case i < runs && err != nil:
			return runs, fmt.Errorf("of %d runs that of instant %d: %w", runs, i, err)
		case i == runs && !errors.Is(err, task.ErrNotFound):
			return runs, fmt.Errorf("the schedule has %d runs, and there is one more: %v, %w", runs, t, err)
		}
	}
	if next := benchStart + 1000 + task.Millis(runs)*1000; record.Recur.Next != next {
		return runs, fmt.Errorf("after %d runs the next instant is %d, not %d", runs, record.Recur.Next, next)
	}
	return runs, nil
}
