package kernel

import (
	"errors"
	"testing"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// medium is the facts of a test.
type medium struct {
	settings *settings.Settings
	quota    task.Quota
	full     bool
	asked    []Need
}

func (m *medium) Settings() *settings.Settings { return m.settings }
func (m *medium) Retention() task.Policy       { return task.Policy{}.WithDefaults() }
func (m *medium) Quota(string) task.Quota      { return m.quota }
func (m *medium) Unfinished(task.Key) int64    { return 0 }

func (m *medium) Room(n Need) error {
	m.asked = append(m.asked, n)
	if m.full {
		return task.ErrFull
	}
	return nil
}

func spec(namespace string) task.Spec {
	return tasktest.Spec("a", 1, tasktest.Bodiless, func(s *task.Spec) { s.Namespace = namespace })
}

// A step that several checks would refuse gets the error of the first one, in all
// 32 combinations.
func TestTheFirstCheckThatRefusesGivesTheError(t *testing.T) {
	for mask := range 1 << 5 {
		has := func(bit int) bool { return mask>>bit&1 != 0 }
		namespace, m := task.DefaultNamespace, &medium{settings: settings.NewSettings(), full: has(4)}
		c := task.Create{Spec: spec(namespace), Idempotency: &task.Idempotency{Key: "k"}}
		owner, old := "", (*task.Task)(nil)
		if has(0) {
			owner = "b"
		}
		if has(1) {
			old = &task.Task{Namespace: namespace, Name: "a", ID: "older", State: task.Scheduled}
		}
		if has(2) {
			c.Spec.Namespace = "missing"
		}
		if has(3) {
			m.quota = task.Quota{MaxPending: 1}
			m.quota.Have.States[task.Scheduled] = 1
		}
		st := store.Changes([]task.Change{c})[0]
		d := Decide(1, settings.Actor{}, &st, owner, old, m)
		var missing *settings.MissingError
		var quota *task.QuotaError
		refusals := []struct {
			is   bool
			seen Seen
		}{
			{errors.Is(d.Err, task.ErrIdempotencyReuse), SeenKeyOwner},
			{errors.Is(d.Err, task.ErrExists), seenRecord},
			{errors.As(d.Err, &missing), SeenSettings},
			{errors.As(d.Err, &quota), SeenCounts},
			{errors.Is(d.Err, task.ErrFull), seenRecord},
		}
		for i, r := range refusals {
			if has(i) {
				if !r.is || d.Seen != r.seen || d.Applied || d.Writes || d.Task != nil {
					t.Errorf("%05b: %+v", mask, d)
				}
				break
			}
		}
		if mask == 0 && (d.Err != nil || !d.Writes || !d.Synced || d.Need != MoreRecords) {
			t.Errorf("it was refused: %+v", d)
		}
	}
}

// A step that ends a task works on a full medium. A patch is refused there later than
// a create.
func TestTheEndOfATaskNeedsNoRoom(t *testing.T) {
	roomy := &medium{settings: settings.NewSettings()}
	apply := func(old *task.Task, st store.Step) *task.Task {
		d := Decide(10, settings.Actor{}, &st, "", old, roomy)
		if !d.Applied {
			t.Fatal(d.Err)
		}
		return d.Task
	}
	create := store.Changes([]task.Change{task.Create{Spec: spec(task.DefaultNamespace)}})[0]
	waits := apply(nil, create)
	claim := store.Claims([]task.Claim{{Key: waits.Key(), Lane: waits.Lane(), Token: "t", Until: 10}})[0]
	runs := apply(waits, claim)
	settlement := store.Settlements([]task.Settlement{{Key: runs.Key(), Token: "t", Outcome: task.Outcome{Verdict: task.Success}}})[0]
	ended := *apply(runs, settlement)
	ended.KeepUntil = 10
	settlement.Transition = task.Settlement{Key: runs.Key(), Token: "t", Outcome: task.Outcome{Verdict: task.Refusal}}
	dead := *apply(runs, settlement)
	label := "x"
	steps := []struct {
		old    *task.Task
		step   store.Step
		need   Need
		synced bool
	}{
		{waits, store.Changes([]task.Change{task.Cancel{Key: waits.Key()}})[0], neverRefused, true},
		{waits, store.Changes([]task.Change{task.Patch{Key: waits.Key(), Labels: map[string]*string{"x": &label}}})[0], MoreBytes, true},
		{waits, claim, neverRefused, false},
		{runs, store.Extensions([]task.Extension{{Key: runs.Key(), Token: "t", Until: 20}})[0], neverRefused, false},
		{runs, settlement, neverRefused, true},
		{runs, store.Step{Key: runs.Key(), Transition: Reap{}, Kind: store.Reaping}, neverRefused, true},
		{&ended, store.Step{Key: ended.Key(), Transition: Remove{}, Kind: store.Removal}, neverRefused, true},
		{nil, create, MoreRecords, true},
		{&dead, store.Changes([]task.Change{task.Revive{Key: dead.Key()}})[0], morePending, true},
	}
	for _, c := range steps {
		m := &medium{settings: settings.NewSettings(), full: true}
		d := Decide(10, settings.Actor{}, &c.step, "", c.old, m)
		if refused := errors.Is(d.Err, task.ErrFull); refused != (c.need != neverRefused) || d.Applied == refused {
			t.Errorf("%T: %+v", c.step.Transition, d)
		}
		if m.full = false; len(m.asked) != 0 && (len(m.asked) > 1 || m.asked[0] != c.need) {
			t.Errorf("%T asked for %v", c.step.Transition, m.asked)
		}
		if d := Decide(10, settings.Actor{}, &c.step, "", c.old, m); d.Synced != c.synced || !d.Applied || !d.Writes || d.Need != c.need {
			t.Errorf("%T with room: %+v", c.step.Transition, d)
		}
	}
}

// A lease is taken back only after its end, or if its holder is gone, and once.
func TestALeaseIsTakenBackAfterItsEnd(t *testing.T) {
	const until = 100
	running := &task.Task{State: task.Running, Lease: &task.Lease{Token: "t", Until: until}}
	for _, c := range []struct {
		reap Reap
		now  task.Millis
		old  *task.Task
		ok   bool
	}{
		{Reap{}, until - 1, running, false},
		{Reap{}, until, running, true},
		{Reap{Gone: true}, 1, running, true},
		{Reap{Token: "t", Until: until}, 1, running, true},
		{Reap{Token: "t", Until: until - 1}, until, running, false},
		{Reap{Token: "u", Until: until}, until, running, false},
		{Reap{}, until, &task.Task{State: task.Scheduled}, false},
		{Reap{}, until, nil, false},
	} {
		if _, err := c.reap.Apply(c.now, c.old, task.Facts{}); (err == nil) != c.ok {
			t.Errorf("%+v at %d: %v", c.reap, c.now, err)
		}
	}
}

// Each write of a record asks for the entries before and after it.
func TestEntriesOfARecordAreNotAllocated(t *testing.T) {
	ended := &task.Task{State: task.Dead, FinishedAt: 1, KeepUntil: 2}
	var sum task.Millis
	if n := testing.AllocsPerRun(100, func() {
		for _, e := range EntriesOf(ended) {
			sum += e.At
		}
	}); n > 0 || sum == 0 {
		t.Errorf("%v allocations", n)
	}
}

// A medium compares Earliest with its own clock, so it must be the time from which the
// transition succeeds.
func TestEarliestIsTheTimeFromWhichATransitionSucceeds(t *testing.T) {
	const at = 1_800_000_000_000
	waits := &task.Task{Name: "a", Namespace: "n", State: task.Scheduled, Due: at}
	runs := &task.Task{Name: "a", Namespace: "n", State: task.Running, Lease: &task.Lease{Token: "1", Until: at}}
	ended := &task.Task{Name: "a", Namespace: "n", State: task.Delivered, KeepUntil: at}
	for _, c := range []struct {
		old *task.Task
		how task.Transition
		of  store.Kind
	}{
		{waits, task.Claim{Lane: waits.Lane(), Token: "1", Until: at + 1}, store.Claim},
		{runs, Reap{}, store.Reaping},
		{ended, Remove{}, store.Removal},
	} {
		from := Earliest(c.of, c.old, at)
		if _, err := c.how.Apply(from-1, c.old, task.Facts{}); err == nil {
			t.Errorf("kind %d succeeds before %d", c.of, from)
		}
		if _, err := c.how.Apply(from, c.old, task.Facts{}); err != nil {
			t.Errorf("kind %d at %d: %v", c.of, from, err)
		}
	}
}
