package redisstore

import (
	"context"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// quotaFresh is the largest age of the counts that are used to check a
// namespace's quotas. This node adds its own changes since then. A namespace
// can exceed its quota by the changes of other nodes in that time. If this node
// writes a change while it reads the counts, the change can be missing or count
// twice until the next read. To make writes wait for the read would be exact,
// but then each claim of the namespace could be late by the time of a read.
const quotaFresh = time.Second

// quotas holds the usage of the namespaces that have quotas.
type quotas struct {
	free    func() (bytes int64, scarce bool) // see Servers.Free
	reading sync.Mutex                        // held while counts are read: other callers wait for them

	// deciding is held from reading the usage until the change is added to
	// underWay. Steps in several shards decide at the same time, and must not
	// take the same room. It is locked before mu.
	deciding sync.Mutex

	mu   sync.Mutex // guards everything below
	have map[string]*usage
}

// usage is the usage of a namespace. underWay counts the changes that were
// admitted and are not written yet. They are counted apart, so a read of the
// counts does not remove them.
type usage struct {
	counts, underWay task.Counts
	read             time.Time
}

// limits returns the quotas of a namespace, nil if it has none. If other
// namespaces exist, a namespace without max_bytes gets a share of the servers:
// its records can use as many bytes as are still free. So the first such
// namespace leaves about half of the memory, the second one about half of the
// rest, and so on. A fixed share for each namespace was the simpler idea:
// thousands of small namespaces would have had almost nothing each.
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
func (q *quotas) refresh(ctx context.Context, s *settings.Settings, steps []*step, read func(context.Context) (map[task.QueueKey]task.Counts, error)) error {
	if !q.anyStale(s, steps) {
		return nil
	}
	q.reading.Lock()
	defer q.reading.Unlock()
	if !q.anyStale(s, steps) { // another caller has read them
		return nil
	}
	now := time.Now()
	counts, err := read(ctx)
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, st := range steps {
		q.usageLocked(st.Key.Namespace)
	}
	for _, u := range q.have {
		u.counts, u.read = task.Counts{}, now
	}
	for key, c := range counts {
		if u := q.have[key.Namespace]; u != nil {
			u.counts.Add(c)
		}
	}
	return nil
}

// anyStale reports whether a step needs counts that are missing or too old.
func (q *quotas) anyStale(s *settings.Settings, steps []*step) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, st := range steps {
		if st.Kind != store.Change && st.Kind != store.Fire || q.limits(s, st.Key.Namespace) == nil {
			continue
		}
		if u := q.have[st.Key.Namespace]; u == nil || time.Since(u.read) > quotaFresh {
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

// commit counts a change that was written. If the change counts as under way,
// commit moves it from underWay to the counts under one lock. Otherwise the
// change could for a moment be missing from both, and the quota could be
// exceeded, or be in both, and the quota would have too little room.
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
}
