package kernel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/quota"
	"github.com/foliot/foliot/internal/task"
)

// stamped is a record with the number of its write.
type stamped struct {
	t     *task.Task
	stamp int
}

func (r stamped) Current() *task.Task { return r.t }

type progress = Progress[stamped, struct{}]

// shared is a medium that many callers share. Some replies get lost: then the write
// is sent again.
type shared struct {
	mu      sync.Mutex // guards everything below
	r       *rand.Rand
	records map[task.Key]stamped
	stamps  int
}

func (s *shared) read(k task.Key) stamped {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records[k]
}

// call is one call of it.
type call struct {
	*shared
	*Call
}

func (c call) Guess(task.Key) (stamped, bool)            { return stamped{}, false }
func (c call) Pause(context.Context, time.Duration)      {}
func (c call) Finish(context.Context, []*progress) error { return nil }
func (c call) RoomFor(*progress, Need) error             { return nil }

func (c call) Prepare(_ context.Context, open []*progress) error {
	for _, p := range open {
		if p.Unknown() {
			p.Found(c.read(p.Key), nil)
		}
	}
	return nil
}

func (c call) Write(_ context.Context, decided []*progress) error {
	for _, p := range decided {
		stamp, resent := c.next(), false
		for lost := true; lost; {
			var e ending
			var current stamped
			e, current, lost = c.put(p, stamp)
			if resent = resent || lost; lost {
				continue
			}
			p.End(e, current, resent)
		}
	}
	return nil
}

func (s *shared) next() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stamps++
	return s.stamps
}

// put writes a decision under its stamp. lost reports that the caller does not learn
// whether it was applied.
func (s *shared) put(p *progress, stamp int) (e ending, current stamped, lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.r.IntN(4) == 0 { // it never came
		return 0, current, true
	}
	switch current = s.records[p.Key]; current.stamp {
	case stamp: // it was applied before
	case p.Old.stamp:
		s.records[p.Key] = stamped{p.Decision.Task, stamp}
	default:
		e = Changed
	}
	return e, current, s.r.IntN(4) == 0
}

// Each create succeeds once, and no confirmed change is lost, although many callers
// change the same records and replies get lost.
func TestNoConfirmedChangeIsLost(t *testing.T) {
	const callers, records = 8, 3
	quotas := &quota.Quotas{Settings: func() *settings.Settings { return settings.NewSettings() }}
	s := &shared{r: rand.New(rand.NewPCG(1, 2)), records: map[task.Key]stamped{}}
	var made [records]int
	var mu sync.Mutex // guards made
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for n := range records {
				sp := spec(task.DefaultNamespace)
				sp.Name, sp.ID = fmt.Sprint("t", n), fmt.Sprintf("id-%d-%d", i, n)
				steps := []*progress{{Step: store.Changes([]task.Change{task.Create{Spec: sp}})[0]}}
				label := fmt.Sprint("by-", i)
				patch := task.Patch{Key: sp.Key, Labels: map[string]*string{label: &label}}
				steps = append(steps, &progress{Step: store.Changes([]task.Change{patch})[0]})
				if err := Make(t.Context(), call{s, &Call{At: 1, Quotas: quotas}}, steps); err != nil || !steps[0].Done || !steps[1].Done {
					t.Errorf("%v, %+v", err, steps)
				}
				if steps[1].Reply.Err != nil {
					t.Error(steps[1].Reply.Err)
				}
				if steps[0].Reply.Err == nil {
					mu.Lock()
					made[n]++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	for n := range records {
		got := s.read(key(fmt.Sprint("t", n))).t
		if made[n] != 1 || len(got.Labels) != callers {
			t.Errorf("%d creates of one record succeeded, and it has %d of %d labels", made[n], len(got.Labels), callers)
		}
	}
}

type sharedCall = call // an embedded field named call would hide the method

// replaced is a medium whose server has a successor when the first round is done, which has
// other records.
type replaced struct {
	sharedCall
	successor map[task.Key]stamped
}

func (r *replaced) Finish(_ context.Context, done []*progress) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.successor != nil {
		r.records, r.successor = r.successor, nil
	}
	for _, p := range done {
		if p.RestsOnRead() && p.Old.stamp != r.records[p.Key].stamp {
			p.Repeat()
		}
	}
	return nil
}

// restless is a medium in which a record changes whenever steps are confirmed.
type restless struct {
	sharedCall
	t         *testing.T
	confirmed map[*progress]bool
}

func (r *restless) Finish(_ context.Context, done []*progress) error {
	for i, p := range done {
		if r.confirmed[p] {
			r.t.Errorf("%s is confirmed twice", p.Key.Name)
		}
		if i > 0 && p.RestsOnRead() {
			p.Repeat()
		} else {
			r.confirmed[p] = true
		}
	}
	return nil
}

// A batch ends although its records change all the time: each of its steps is confirmed once.
func TestAStepIsConfirmedOnce(t *testing.T) {
	quotas := &quota.Quotas{Settings: func() *settings.Settings { return settings.NewSettings() }}
	s := &shared{r: rand.New(rand.NewPCG(1, 2)), records: map[task.Key]stamped{}}
	for range 2 {
		var steps []*progress
		for i := range 20 {
			sp := spec(task.DefaultNamespace)
			sp.Name = fmt.Sprint("t", i)
			steps = append(steps, &progress{Step: store.Changes([]task.Change{task.Create{Spec: sp}})[0]})
		}
		r := &restless{call{s, &Call{At: 1, Quotas: quotas}}, t, map[*progress]bool{}}
		if err := Make(t.Context(), r, steps); err != nil || len(r.confirmed) != len(steps) {
			t.Errorf("%d of %d steps are confirmed: %v", len(r.confirmed), len(steps), err)
		}
	}
}

// A change that finds its record as it wants it is made again if the server's successor does
// not have that record.
func TestAChangeThatRestsOnTheRecordOfAReplacedServerIsMadeAgain(t *testing.T) {
	quotas := &quota.Quotas{Settings: func() *settings.Settings { return settings.NewSettings() }}
	sp := spec(task.DefaultNamespace)
	sp.Name = "a"
	make := func(r *replaced, c task.Change) store.Reply {
		steps := []*progress{{Step: store.Changes([]task.Change{c})[0]}}
		if err := Make(t.Context(), r, steps); err != nil {
			t.Fatal(err)
		}
		return steps[0].Reply
	}
	for _, has := range []bool{false, true} { // the successor has the task, and not its end
		s := &shared{r: rand.New(rand.NewPCG(1, 2)), records: map[task.Key]stamped{}}
		r := &replaced{sharedCall: call{s, &Call{At: 1, Quotas: quotas}}}
		make(r, task.Create{Spec: sp})
		successor, want := map[task.Key]stamped{}, task.ErrNotFound
		if has {
			successor[sp.Key], want = s.records[sp.Key], nil
		}
		make(r, task.Cancel{Key: sp.Key})
		r.successor = successor
		got := make(r, task.Cancel{Key: sp.Key})
		if !errors.Is(got.Err, want) || has && s.records[sp.Key].t.State != task.Cancelled {
			t.Errorf("%v, and the successor has %+v", got.Err, s.records[sp.Key].t)
		}
	}
}
