// Package quota holds the usage of namespaces that have quotas, for a store that several
// nodes share. A store asks it before each change, and reports each change to it.
package quota

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// Counts that are used to check a namespace's quotas are at most two seconds old. The
// owners of shards publish sums (membership.Member.Sums), and a node that creates tasks
// reads them again after quotaFresh. If the sums of some shards are missing, it counts
// all shards, at most once in countFresh. It adds its own changes since then, so a
// namespace can exceed its quota by the changes of other nodes in that time. If this
// node writes a change while the counts are read, the change can be missing or count
// twice until the next read. To make writes wait for the read would be exact, but then
// each claim of the namespace could be late by the time of a read.
const quotaFresh, countFresh = 500 * time.Millisecond, time.Second

// Quotas holds the usage of the namespaces that have quotas. All methods can be called by
// many goroutines.
type Quotas struct {
	// The functions of the store, which it sets before the first call. Settings returns
	// those in force. Free returns how many bytes of records have room, and whether
	// namespaces must share this room; if it is nil, they need not. Sums returns counts
	// and their age (see membership.Member); if it is nil, this node counts by itself,
	// with CountAll.
	Settings func() *settings.Settings
	Free     func() (bytes int64, scarce bool)
	CountAll func(context.Context) (map[task.QueueKey]task.Counts, error)
	Sums     func(context.Context) (all map[string]task.Counts, age time.Duration, ok bool)

	reading sync.Mutex // held while counts are read: other callers wait for them

	// Deciding is held from Counts until Begin. Steps in several shards decide at
	// the same time, and must not take the same room. It is locked before mu.
	Deciding sync.Mutex

	mu   sync.Mutex // guards everything below
	have map[string]*usage
}

// usage is the usage of a namespace. underWay counts the changes that were admitted and
// are not written yet, separately, so that a read of the counts does not remove them.
type usage struct {
	counts, underWay task.Counts
	fresh            time.Time // the counts need not be read before
	recent           []recentChanges
}

// recentChanges are changes that this node wrote within recentPart.
type recentChanges struct {
	first, last time.Time // by the monotonic clock: the servers' clocks can step
	sum         task.Counts
}

// Older changes than recentKept are in all sums that are used.
const recentPart, recentKept = 20 * time.Millisecond, 5 * time.Second

// Limits returns the quotas of a namespace, nil if it has none. If other namespaces
// exist, a namespace without max_bytes gets a share of the servers: its records can use
// as many bytes as are still free. So the first such namespace leaves about half of the
// memory, the second one about half of the rest, and so on. A fixed share for each
// namespace was the simpler idea: thousands of small namespaces would have had almost
// nothing each.
func (q *Quotas) Limits(s *settings.Settings, namespace string) *settings.NamespaceSettings {
	n := s.Namespace(namespace)
	if n == nil {
		return nil
	}
	if n.MaxBytes == 0 && q.Free != nil {
		if free, scarce := q.Free(); scarce && s.Shared() {
			share := *n
			share.MaxBytes = max(free, 1)
			return &share
		}
	}
	if n.MaxPending == 0 && n.MaxBytes == 0 && !n.Suspended {
		return nil
	}
	return n
}

// Refresh reads the counts if the namespace of a step has quotas, and its counts are too
// old. It must be called before the step is decided.
func (q *Quotas) Refresh(ctx context.Context, namespace string) error {
	if !q.stale(namespace) {
		return nil
	}
	q.reading.Lock()
	defer q.reading.Unlock()
	if !q.stale(namespace) { // another caller has read them
		return nil
	}
	began, fresh := time.Now(), quotaFresh
	var all map[string]task.Counts
	var age time.Duration
	published := false
	if q.Sums != nil {
		all, age, published = q.Sums(ctx)
	}
	if _, counted := all[namespace]; !published || !counted {
		var err error
		if all, err = q.Count(ctx, q.CountAll); err != nil {
			return err
		}
		fresh, published = countFresh, false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for name, c := range all {
		u := q.usageLocked(name)
		if u.counts, u.fresh = c, began.Add(fresh); published {
			u.addSince(began.Add(-age))
		}
	}
	return nil
}

// Count returns the counts of the namespaces that have quotas, nil if none has. count
// counts queues.
func (q *Quotas) Count(ctx context.Context, count func(context.Context) (map[task.QueueKey]task.Counts, error)) (map[string]task.Counts, error) {
	s, all := q.Settings(), map[string]task.Counts{}
	for _, n := range append(s.List(settings.NamespaceKind, ""), s.Namespace(task.DefaultNamespace)) {
		if name := n.Key().Name; q.Limits(s, name) != nil {
			all[name] = task.Counts{}
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	counts, err := count(ctx)
	for key, c := range counts {
		if have, limited := all[key.Namespace]; limited {
			have.Add(c)
			all[key.Namespace] = have
		}
	}
	return all, err
}

// addSince adds the changes that this node wrote after the time at.
func (u *usage) addSince(at time.Time) {
	u.recent = slices.DeleteFunc(u.recent, func(r recentChanges) bool { return r.last.Before(at) })
	for _, r := range u.recent {
		u.counts.Add(r.sum)
	}
}

// stale reports whether a namespace has quotas and counts that are missing or too old.
func (q *Quotas) stale(namespace string) bool {
	if q.Limits(q.Settings(), namespace) == nil {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.have[namespace]
	return u == nil || time.Now().After(u.fresh)
}

func (q *Quotas) usageLocked(namespace string) *usage {
	u := q.have[namespace]
	if u == nil {
		u = &usage{}
		if q.have == nil {
			q.have = map[string]*usage{}
		}
		q.have[namespace] = u
	}
	return u
}

// Counts returns the counts of a namespace with all changes under way. The caller
// must hold Deciding, and call Begin before it releases Deciding.
func (q *Quotas) Counts(namespace string) task.Counts {
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.usageLocked(namespace)
	have := u.counts
	have.Add(u.underWay)
	return have
}

// Begin counts the change from old to t as under way.
func (q *Quotas) Begin(old, t *task.Task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.usageLocked(t.Namespace).underWay.Move(old, t)
}

// EndUnderWay stops counting a change that Begin has counted as under way.
func (q *Quotas) EndUnderWay(old, t *task.Task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.usageLocked(t.Namespace).underWay.Move(t, old)
}

// Commit counts a change that was written. If the change counts as under way, Commit
// moves it from underWay to the counts under one lock. Otherwise it could for a moment
// be missing from both, so the quota could be exceeded, or be in both, so the quota
// would have too little room.
func (q *Quotas) Commit(namespace string, old, t *task.Task, wasUnderWay bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.have[namespace]
	if u == nil {
		return
	}
	if wasUnderWay {
		u.underWay.Move(t, old)
	}
	u.counts.Move(old, t)
	if q.Sums == nil {
		return
	}
	now := time.Now()
	if n := len(u.recent); n == 0 || now.Sub(u.recent[n-1].first) > recentPart {
		u.recent = append(u.recent, recentChanges{first: now})
	}
	part := &u.recent[len(u.recent)-1]
	part.last = now
	part.sum.Move(old, t)
	if now.Sub(u.recent[0].last) > recentKept {
		u.recent = u.recent[1:]
	}
}
