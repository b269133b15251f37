package kernel

import (
	"sync"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Abandoned holds the ended leases that scrubs have found. If such a lease is unchanged
// after store.AbandonedAfter, no process holds it, because a holder extends its lease.
// One scrub is not enough, because after the clock was set ahead, each lease looks ended
// until its holder extends it. The zero Abandoned is ready to use, and its methods are
// safe for concurrent use.
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

// Find checks the lease of t, and returns the step that takes the lease back if it is
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
