package redisstore

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
	"github.com/foliot/foliot/internal/tasktest"
)

// eachSecond returns the spec of a schedule that fires each second from began
// on, and makes up for all missed instants.
func eachSecond(t testing.TB, name string, overlap ...recurrence.Overlap) task.PutSchedule {
	t.Helper()
	s := task.ScheduleSpec{Spec: specOf(name, began), Rule: recurrence.Rule{
		Every: time.Second, Anchor: began, Missed: recurrence.FireAll, CatchupWindow: recurrence.DefaultCatchupWindow, CatchupLimit: recurrence.MaxCatchupLimit,
	}}
	for _, s.Rule.Overlap = range overlap {
	}
	return task.PutSchedule{Spec: s}
}

// fires returns a Fire for each of the schedules.
func fires(names ...string) []task.Fire {
	all := make([]task.Fire, len(names))
	for i, name := range names {
		all[i] = task.Fire{Key: task.ScheduleKey(task.DefaultNamespace, name)}
	}
	return all
}

// TestTwoNodesFireAnInstantOnce: both nodes keep firing all due schedules, and
// the store accepts only those of the shard's owner.
func TestTwoNodesFireAnInstantOnce(t *testing.T) {
	quick.Leave(t, "waits for instants")
	server := redistest.New(t)
	a, b := openNode(t, "a", server.Addr), openNode(t, "b", server.Addr)
	eventually(t, "they share the shards", func() bool { return divided(a, b) })
	var names []string
	var makes []task.Change
	for i := range 20 {
		name := fmt.Sprint("s", i)
		put := eachSecond(t, name)
		put.Spec.Rule.Anchor = 0
		names, makes = append(names, name), append(makes, put)
	}
	fatal.If(t, apply(t, a, makes...))
	var mu sync.Mutex // guards made and refused
	made, refused := map[string]int{}, 0
	var nodes sync.WaitGroup
	until := time.Now().Add(2500 * time.Millisecond)
	for _, s := range []*Store{a, b} {
		nodes.Go(func() {
			for time.Now().Before(until) {
				replies, err := s.Transit(t.Context(), s.now(), store.Fires(fires(names...)))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, r := range replies {
					switch {
					case r.Err == nil && r.Spawned != nil:
						made[r.Spawned.Name]++
					case errors.Is(r.Err, task.ErrLaneChanged):
						refused++
					case !errors.Is(r.Err, task.ErrNotDue):
						t.Errorf("%+v", r)
					}
				}
				mu.Unlock()
			}
		})
	}
	nodes.Wait()
	runs := int64(0)
	for _, name := range names {
		s, err := a.Get(t.Context(), task.ScheduleKey(task.DefaultNamespace, name))
		fatal.If(t, err)
		if runs += s.Recur.Runs; s.Recur.Runs < 2 {
			t.Errorf("%s has %d runs", name, s.Recur.Runs)
		}
	}
	for name, times := range made {
		if _, err := b.Get(t.Context(), tasktest.Key(name)); err != nil || times != 1 {
			t.Errorf("%s was made %d times: %v", name, times, err)
		}
	}
	if int64(len(made)) != runs {
		t.Errorf("%d tasks of %d runs", len(made), runs)
	}
	if refused == 0 {
		t.Error("nobody tried to fire what was not its own")
	}
	checkInvariants(t, a)
}

// TestTheEndOfAnOccurrenceReachesItsSchedulesOwner, even if another node
// reports the end.
func TestTheEndOfAnOccurrenceReachesItsSchedulesOwner(t *testing.T) {
	server := redistest.New(t)
	// The poll is too slow to find it first.
	a := openNodeWith(t, Config{LanePoll: time.Hour, Shared: store.Shared{Node: "a"}}, server.Addr)
	b := openNodeWith(t, Config{LanePoll: time.Hour, Shared: store.Shared{Node: "b"}}, server.Addr)
	eventually(t, "they share the shards", func() bool { return divided(a, b) })
	listening(t, server.Addr, a, b)
	var wanted []*task.Task
	var creates, cancels []task.Change
	for i := range 30 {
		name := fmt.Sprint("s", i)
		spec := specOf("x", task.FloorMillis(time.Now())+3_600_000)
		spec.Name, spec.NotifySchedule = task.OccurrenceName(name, 1), true
		creates, cancels = append(creates, task.Create{Spec: spec}), append(cancels, task.Cancel{Key: spec.Key})
		k := task.ScheduleKey(task.DefaultNamespace, name)
		wanted = append(wanted, &task.Task{Namespace: k.Namespace, Name: k.Name})
	}
	fatal.If(t, apply(t, a, creates...))
	heard := [2]*hints{watch(a), watch(b)}
	fatal.If(t, apply(t, a, cancels...))
	t.Log("within", heard[0].await(t, a, wanted), heard[1].await(t, b, wanted))
}

// TestSchedulesWaitWhileTheServerIsFull: the next instant stays where it was,
// and the schedule goes on later.
func TestSchedulesWaitWhileTheServerIsFull(t *testing.T) {
	t.Parallel()
	addr := redistest.New(t, "--maxmemory", "20mb").Addr
	s := openLevel(t, redisconn.Default, addr)
	put, skips := eachSecond(t, "nightly"), eachSecond(t, "skips", recurrence.SkipOverlap)
	put.Spec.Rule.Start, skips.Spec.Rule.Anchor = task.FloorMillis(time.Now())+200, task.FloorMillis(time.Now())-800
	put.Spec.Rule.Anchor = 0
	busy := order("x")
	busy.Spec.Name, busy.Idempotency = task.OccurrenceName("skips", 1), nil
	fatal.If(t, apply(t, s, put, skips, busy))
	fill(t, addr)
	var got []store.Reply
	fire := func() (errs [2]error) {
		t.Helper()
		replies, err := s.Transit(t.Context(), s.now(), store.Fires(fires("nightly", "skips")))
		fatal.If(t, err)
		got = replies
		return [2]error{replies[0].Err, replies[1].Err}
	}
	eventually(t, "the schedule is due, and there is no room", func() bool { return errors.Is(fire()[0], task.ErrFull) })
	if n := kept(t, s, addr); n != 3 {
		t.Errorf("%d records", n)
	}
	eventually(t, "what makes nothing needs no room", func() bool { return fire()[1] == nil && len(got[1].Skipped) > 0 })
	if reply, err := redistest.Command(t.Context(), addr, "DEL", "fill"); reply != ":1" {
		t.Fatal(reply, err)
	}
	fatal.If(t, s.servers.CheckMasters(t.Context()))
	if errs := fire(); errs[0] != nil || got[0].Spawned == nil || got[0].Spawned.Due != put.Spec.Rule.Start {
		t.Errorf("when there is room: %v, %+v", errs[0], got[0])
	}
}
