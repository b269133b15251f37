package pebblestore

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// powerOff returns the disk with only its synced data.
func powerOff(disk *vfs.MemFS) *vfs.MemFS { return disk.CrashClone(vfs.CrashCloneCfg{}) }

// Each process claims the task that kills it. Then the process ends, and the power
// fails. If a neighbour is delivered next to it, its settlement syncs the claims.
// Otherwise only the store's own rule counts.
func TestATaskThatKillsTheProcessDies(t *testing.T) {
	for _, alone := range []bool{false, true} {
		disk := vfs.NewCrashableMem()
		s := open(t, disk, Config{Now: clock})
		mustApply(t, s, []task.Change{task.Create{Spec: newSpec("poison", benchStart)}})
		lives := 0
		poison := func() *task.Task {
			got, err := s.Get(t.Context(), tasktest.Key("poison"))
			fatal.If(t, err)
			return got
		}
		for ; lives < 2*task.MaxReclaims && poison().State != task.Dead; lives++ {
			neighbour := newSpec(newName(int64(lives)), benchStart)
			if !alone {
				fatal.If(t, errors.Join(apply(t.Context(), s, task.Create{Spec: neighbour}), claimOne(t.Context(), s, neighbour.Name)))
			}
			if err := claimTask(t.Context(), s, poison(), benchStart); err != nil {
				break
			}
			if !alone {
				fatal.If(t, settleOne(t.Context(), s, neighbour.Name))
			}
			disk = powerOff(disk)
			s = open(t, disk, Config{Now: clock})
		}
		// The claims before the first crash need not be synced.
		if got := poison(); lives < task.MaxReclaims || lives > task.MaxReclaims+1 || got.State != task.Dead || got.Reason != task.ReasonReclaims || len(got.History) != task.MaxReclaims {
			t.Errorf("alone %v, after %d lives: %+v", alone, lives, got)
		}
		for i := range lives {
			if n, err := s.Get(t.Context(), tasktest.Key(newName(int64(i)))); !alone && (err != nil || n.State != task.Delivered) {
				t.Errorf("neighbour %d: %v, %v", i, n, err)
			}
		}
		storetest.CheckInvariants(t, s, benchStart, task.DefaultNamespace)
	}
}

// Overdue tasks in a paused queue cost the other tasks nothing.
func TestAfterACrashOnlyClaimsOfTasksThatWereDueAreSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewCrashableMem()
		first := open(t, disk, Config{Now: clock})
		for _, name := range []string{"paused", "a", "b", "by-hand", "later"} {
			due := benchStart
			if name == "later" || name == "by-hand" {
				due++
			}
			mustApply(t, first, []task.Change{task.Create{Spec: newSpec(name, due)}})
		}
		mustApply(t, first, []task.Change{task.Create{Spec: newSpec("left-before", benchStart)}})
		fatal.If(t, claimOne(t.Context(), first, "left-before"))
		if n, err := first.Reap(t.Context(), benchStart+3_600_000, 10); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		disk = powerOff(disk)
		fatal.If(t, first.Close())

		var g blockableDisk
		s := open(t, g.wrap(disk), Config{Now: clock})
		defer func() { _ = s.Close() }()
		if replies, err := s.Transit(t.Context(), benchStart+1, store.Changes([]task.Change{task.Run{Key: tasktest.Key("by-hand")}})); err != nil || replies[0].Err != nil {
			t.Fatal(err, replies)
		}
		mustApply(t, s, []task.Change{task.Patch{Key: tasktest.Key("left-before"), When: &task.When{At: benchStart + 1}}})
		for _, c := range []struct {
			name   string
			synced bool
		}{{"a", true}, {"later", false}, {"by-hand", true}, {"left-before", true}, {"b", true}} {
			g.close()
			claimed, err := answered(func() error {
				was, err := s.Get(t.Context(), tasktest.Key(c.name))
				if err != nil {
					return err
				}
				return claimTask(t.Context(), s, was, benchStart+1)
			})
			if claimed() == c.synced {
				t.Errorf("%s: the claim was answered before the sync: %v", c.name, claimed())
			}
			g.open()
			fatal.If(t, errors.Join(err(), settleOne(t.Context(), s, c.name)))
		}
	})
}

func TestAfterACloseClaimsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewMem()
		first := open(t, disk, Config{Now: clock})
		mustApply(t, first, []task.Change{task.Create{Spec: newSpec("a", benchStart)}})
		fatal.If(t, first.Close())
		var g blockableDisk
		s := open(t, g.wrap(disk), Config{Now: clock})
		defer func() { _ = s.Close() }()
		g.close()
		claimed, err := answered(func() error { return claimOne(t.Context(), s, "a") })
		if !claimed() {
			t.Error("a claim waited for the disk after a stop in order")
		}
		g.open()
		if err := err(); err != nil {
			t.Error(err)
		}
	})
}

func TestOpenTakesBackRunningTasks(t *testing.T) {
	disk := vfs.NewMem()
	var left []*task.Task
	config := Config{Now: clock, OnReap: func(tasks []*task.Task) { left = tasks }}
	s := open(t, disk, config)
	mustApply(t, s, []task.Change{task.Create{Spec: newSpec("a", benchStart)}})
	fatal.If(t, errors.Join(claimOne(t.Context(), s, "a"), s.Close()))
	s = open(t, disk, config)
	if len(left) != 1 || left[0].Name != "a" || left[0].Reclaims != 1 {
		t.Errorf("OnReap was called with %v", left)
	}
	got, err := s.Get(t.Context(), tasktest.Key("a"))
	if err != nil || got.State != task.Scheduled || got.Reclaims != 1 || got.MaybeSendingUntil != 0 {
		t.Errorf("got %+v, %v; want it scheduled, with one reclaim and no attempt that may still be on the wire", got, err)
	}
	if entries := peekAll(t, s, benchStart); len(entries) != 1 {
		t.Errorf("the due index has %v", entries)
	}
}

// peekAll reads all lanes that have an entry due at or before until.
func peekAll(t *testing.T, s *Store, until task.Millis) (all []task.Entry) {
	t.Helper()
	heads, err := store.LaneHeads(t.Context(), s, until)
	fatal.If(t, err)
	for _, h := range heads {
		found, err := s.Peek(t.Context(), []store.LaneRead{{Lane: h.Lane, Until: until, Limit: 1000}})
		fatal.If(t, err)
		all = append(all, found[0]...)
	}
	return all
}
