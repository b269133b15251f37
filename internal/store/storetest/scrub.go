package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// scrubCases: in a correct store, only claims that clients abandoned need
// repair.
var scrubCases = []testCase{
	{
		"a scrub during other calls finds nothing",
		"A record that changes during the scrub is no damage.",
		func(f *fixture) {
			specs := make([]task.Spec, crowd())
			for i := range specs {
				specs[i] = f.spec(numbered(i), at(start))
			}
			f.together(func(i int) {
				if i%8 == 0 {
					if found, err := drainScrub(f.Context(), f.store, start, 1+i); err != nil || len(found) > 0 {
						f.Errorf("%+v, error %v", found, err)
					}
					return
				}
				for _, c := range []task.Change{task.Create{Spec: specs[i]}, task.Run{Key: specs[i].Key}, task.Replace{Spec: specs[i]}, task.Cancel{Key: specs[i].Key}} {
					f.one(c)
				}
			})
		},
	},
	{
		"a lease that is no longer extended is taken back",
		"A scrub that finds a lease ended takes it back if another scrub, AbandonedAfter later, finds it unchanged. Otherwise an attempt with a hanging holder would leave its task running for ever.",
		func(f *fixture) {
			for _, limit := range []int{1, 3, 1000} {
				f.takesBack(limit)
			}
		},
	},
	{
		"a clock that was set ahead costs no lease",
		"A lease that looks ended because of the clock is extended before the second look.",
		func(f *fixture) {
			made := f.create("a", at(start))
			f.claim(start, made, "1")
			for now, n := start+3_600_000, 0; n < 5; now, n = now.Add(store.AbandonedAfter), n+1 {
				if found := f.scrub(now, 10); len(found) > 0 {
					f.Fatalf("repaired %+v", found)
				}
				f.transit(now, store.Extensions([]task.Extension{{Key: made.Key(), Token: "1", Until: now + 15_000}}))
			}
			f.settle(start+99_000_000, made, "1", task.Outcome{Verdict: task.Success})
		},
	},
}

// takesBack abandons one lease and holds another.
func (f *fixture) takesBack(limit int) {
	f.Helper()
	made := f.create(fmt.Sprintf("a%d", limit), at(start))
	held := f.create(fmt.Sprintf("held%d", limit), at(start))
	f.claim(start, made, "1")
	f.claim(start, held, "2")
	ended, later := start+30_000, (start + 30_000).Add(store.AbandonedAfter)
	for _, now := range []task.Millis{ended - 1, ended, ended + 1, later - 1} {
		if found := f.scrub(now, limit); len(found) > 0 {
			f.Fatalf("at the lease's end + %d: %+v", now-ended, found)
		}
	}
	f.transit(later, store.Extensions([]task.Extension{{Key: held.Key(), Token: "2", Until: later - 5}}))
	found := f.scrub(later, limit)
	if len(found) != 1 || found[0].Key != made.Key() || found[0].Found == "" {
		f.Fatalf("repaired %+v", found)
	}
	if got := f.load(made.Key()); got.State != task.Scheduled || got.Reclaims != 1 || got.MaybeSendingUntil == 0 {
		f.Errorf("%v, reclaims %d, zombie until %d", got.State, got.Reclaims, got.MaybeSendingUntil)
	}
	if r := f.trySettle(later, made, "1", task.Outcome{Verdict: task.Success}); !errors.Is(r.Err, task.ErrStale) {
		f.Errorf("the lost token settles: %v", r.Err)
	}
	f.settle(later, held, "2", task.Outcome{Verdict: task.Success})
}

// scrub scrubs from start to end.
func (f *fixture) scrub(now task.Millis, limit int) []store.Repair {
	f.Helper()
	found, err := drainScrub(f.Context(), f.store, now, limit)
	fatal.If(f, err)
	return found
}

// drainScrub scrubs step by step until the end, and checks the contract of
// every step.
func drainScrub(ctx context.Context, s store.Store, now task.Millis, limit int) (found []store.Repair, err error) {
	for cursor := ""; ; {
		step, err := s.Scrub(ctx, now, cursor, limit)
		switch {
		case err != nil:
			return found, fmt.Errorf("Scrub from %q: %w", cursor, err)
		case step.Examined > limit:
			return found, fmt.Errorf("a step of %d examined %d", limit, step.Examined)
		case step.Next == cursor && step.Next != "":
			return found, fmt.Errorf("the cursor %q does not move on", cursor)
		}
		found = append(found, step.Repairs...)
		if step.Next == "" {
			return found, nil
		}
		cursor = step.Next
	}
}
