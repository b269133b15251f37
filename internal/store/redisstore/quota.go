package redisstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
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

// quotas holds the usage of the namespaces that have quotas.
type quotas struct {
	free     func() (bytes int64, scarce bool) // see Servers.Free
	countAll func(context.Context) (map[task.QueueKey]task.Counts, error)
	sums     func(context.Context) (all map[string]task.Counts, age time.Duration, ok bool) // see membership; nil: this node counts by itself
	reading  sync.Mutex                                                                     // held while counts are read: other callers wait for them

	// deciding is held from reading the usage until the change is added to
	// underWay. Steps in several shards decide at the same time, and must not
	// take the same room. It is locked before mu.
	deciding sync.Mutex

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

// limits returns the quotas of a namespace, nil if it has none. If other namespaces
// exist, a namespace without max_bytes gets a share of the servers: its records can use
// as many bytes as are still free. So the first such namespace leaves about half of the
// memory, the second one about half of the rest, and so on. A fixed share for each
// namespace was the simpler idea: thousands of small namespaces would have had almost
// nothing each.
func (q *quotas) limits(s *settings.Settings, namespace string) *settings.NamespaceSettings {
	n := s.Namespace(namespace)
	if n == nil {
		return nil
	}
	if n.MaxBytes == 0 {
		if free, scarce := q.free(); scarce && s.Shared() {
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

// refresh reads the counts if a step is in a namespace with quotas and with
// counts that are too old.
func (q *quotas) refresh(ctx context.Context, s *settings.Settings, steps []*step) error {
	if !q.anyStale(s, steps) {
		return nil
	}
	q.reading.Lock()
	defer q.reading.Unlock()
	if !q.anyStale(s, steps) { // another caller has read them
		return nil
	}
	began, fresh := time.Now(), quotaFresh
	all, at, published := q.published(ctx, s, steps)
	if !published {
		counts, err := q.countAll(ctx)
		if err != nil {
			return err
		}
		all, fresh = map[string]task.Counts{}, countFresh
		for key, c := range counts {
			have := all[key.Namespace]
			have.Add(c)
			all[key.Namespace] = have
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, st := range steps {
		q.usageLocked(st.Key.Namespace)
	}
	for name, u := range q.have {
		c, counted := all[name]
		if published && !counted {
			continue
		}
		if u.counts, u.fresh = c, began.Add(fresh); published {
			u.addSince(at)
		}
	}
	return nil
}

// published returns the published counts of namespaces, and the time that they show, or
// false if they lack a namespace of steps.
func (q *quotas) published(ctx context.Context, s *settings.Settings, steps []*step) (all map[string]task.Counts, at time.Time, ok bool) {
	if q.sums == nil {
		return nil, at, false
	}
	now := time.Now()
	all, age, ok := q.sums(ctx)
	return all, now.Add(-age), ok && !slices.ContainsFunc(steps, func(st *step) bool {
		_, counted := all[st.Key.Namespace]
		return !counted && q.limits(s, st.Key.Namespace) != nil
	})
}

// addSince adds the changes that this node wrote after the time at.
func (u *usage) addSince(at time.Time) {
	u.recent = slices.DeleteFunc(u.recent, func(r recentChanges) bool { return r.last.Before(at) })
	for _, r := range u.recent {
		u.counts.Add(r.sum)
	}
}

// anyStale reports whether a step needs counts that are missing or too old.
func (q *quotas) anyStale(s *settings.Settings, steps []*step) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, st := range steps {
		if st.Kind != store.Change && st.Kind != store.Fire || q.limits(s, st.Key.Namespace) == nil {
			continue
		}
		if u := q.have[st.Key.Namespace]; u == nil || time.Now().After(u.fresh) {
			return true
		}
	}
	return false
}

func (q *quotas) usageLocked(namespace string) *usage {
	u := q.have[namespace]
	if u == nil {
		u = &usage{}
		q.have[namespace] = u
	}
	return u
}

// counts returns the counts of a namespace with all changes under way. The caller
// must hold deciding, and call begin before it releases deciding.
func (q *quotas) counts(namespace string) task.Counts {
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.usageLocked(namespace)
	have := u.counts
	have.Add(u.underWay)
	return have
}

// begin counts the change from old to t as under way.
func (q *quotas) begin(old, t *task.Task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.usageLocked(t.Namespace).underWay.Move(old, t)
}

// endUnderWay stops counting a change that begin has counted as under way.
func (q *quotas) endUnderWay(old, t *task.Task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.usageLocked(t.Namespace).underWay.Move(t, old)
}

// commit counts a change that was written. If the change counts as under way, commit
// moves it from underWay to the counts under one lock. Otherwise it could for a moment
// be missing from both, so the quota could be exceeded, or be in both, so the quota
// would have too little room.
func (q *quotas) commit(namespace string, old, t *task.Task, wasUnderWay bool) {
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
	if q.sums == nil {
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
