package kernel

import (
	"sync"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Abandoned holds the ended leases that scrubs have found. A lease that has not
// changed store.AbandonedAfter later is held by no process, because a holder extends
// its lease. Two checks are necessary, because every lease looks ended after the
// clock was set ahead, until it is extended. The zero Abandoned has found none, and
// any goroutine may call its methods.
type Abandoned struct {
	mu     sync.Mutex // guards everything below
	found  map[task.Key]endedLease
	scrubs int
}

type endedLease struct {
	Reap
	seen  task.Millis // when it was first found ended
	scrub int         // the last scrub that found it
}

// Begin begins a scrub.
func (a *Abandoned) Begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.scrubs++
}

// End ends a scrub, and forgets the leases that it did not find again, because they
// were settled or extended.
func (a *Abandoned) End() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, old := range a.found {
		if old.scrub != a.scrubs {
			delete(a.found, key)
		}
	}
}

// Find checks the lease of a task, and returns the step that takes it back if it is
// abandoned.
func (a *Abandoned) Find(now task.Millis, t *task.Task) (back store.Step, abandoned bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := t.Key()
	if t.State != task.Running || t.Lease.Until > now {
		delete(a.found, key)
		return back, false
	}
	this := endedLease{Reap{Token: t.Lease.Token, Until: t.Lease.Until}, now, a.scrubs}
	if old, again := a.found[key]; again && old.Reap == this.Reap {
		if now.Sub(old.seen) >= store.AbandonedAfter {
			delete(a.found, key)
			return store.Step{Key: key, Transition: this.Reap, Kind: store.Reaping}, true
		}
		this.seen = old.seen
	}
	if a.found == nil {
		a.found = make(map[task.Key]endedLease)
	}
	a.found[key] = this
	return back, false
}
