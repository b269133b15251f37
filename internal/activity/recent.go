package activity

import (
	"cmp"
	"slices"

	"github.com/foliot/foliot/internal/task"
)

const (
	// kept is the number of attempts that are kept of each kind: those that delivered
	// their task, and all others, so deliveries do not displace failures.
	kept = 1000
	// perSecond and allPerSecond are the numbers of attempts of each kind that are
	// kept in one second: of one namespace, and of all.
	perSecond, allPerSecond = 100, 1000
)

// recent has the last attempts of one kind. Each namespace has its own list, so that
// a busy one displaces no attempts of others before it has displaced its own.
type recent struct {
	lists map[string]*attemptList // by namespace; no list is empty
	total int
	since task.Millis // the latest end of an attempt that was not kept, of a namespace without a list
	quota quota
}

// quota bounds the attempts that are kept in a second.
type quota struct {
	second task.Millis
	used   int
}

// take reports whether one of at most n attempts in the present second is left.
func (q *quota) take(now task.Millis, n int) bool {
	if second := now / 1000; second != q.second {
		*q = quota{second: second}
	}
	if q.used == n {
		return false
	}
	q.used++
	return true
}

// attemptList has the last attempts of one kind and namespace, with each one that
// ended after since.
type attemptList struct {
	kept  []attempt // the oldest first
	since task.Millis
	quota quota
}

// place returns the place for an attempt that has ended now, or nil if it is not kept.
func (r *recent) place(now task.Millis, namespace string) *attempt {
	l := r.lists[namespace]
	switch {
	case l == nil && !r.quota.take(now, allPerSecond):
		r.since = max(r.since, now)
		return nil
	case l != nil && !(l.quota.take(now, perSecond) && r.quota.take(now, allPerSecond)):
		l.since = max(l.since, now)
		return nil
	}
	if r.total == kept {
		r.drop()
		l = r.lists[namespace]
	}
	if l == nil {
		l = &attemptList{since: r.since, quota: quota{now / 1000, 1}}
		r.lists[namespace] = l
	}
	r.total++
	l.kept = append(l.kept, attempt{})
	return &l.kept[len(l.kept)-1]
}

// drop removes the oldest attempt of a namespace that has the most, in O(namespaces),
// of at most kept.
func (r *recent) drop() {
	var name string
	var largest *attemptList
	for n, l := range r.lists {
		if largest == nil || len(l.kept) > len(largest.kept) {
			name, largest = n, l
		}
	}
	largest.since = max(largest.since, largest.kept[0].EndedAt)
	largest.kept[0] = attempt{} // it holds texts
	largest.kept = largest.kept[1:]
	if r.total--; len(largest.kept) == 0 {
		r.since = max(r.since, largest.since)
		delete(r.lists, name)
	}
}

// Filter selects attempts.
type Filter struct {
	Namespace, Queue string // empty means any
	Outcomes         []string
	Since            task.Millis // only attempts that ended at this time or later
	Limit            int
}

func (f *Filter) match(a *attempt) bool {
	return (f.Queue == "" || a.Queue == f.Queue) && a.EndedAt >= f.Since && (len(f.Outcomes) == 0 || slices.Contains(f.Outcomes, a.Outcome))
}

// Recent returns the kept attempts that match, the latest first. All attempts that
// ended after since were kept.
func (r *Recorder) Recent(f Filter) (list []attempt, since task.Millis) {
	r.mu.Lock()
	defer r.mu.Unlock()
	since = r.began - 1
	for _, of := range []*recent{&r.delivered, &r.others} {
		if f.Namespace != "" && of.lists[f.Namespace] == nil {
			since = max(since, of.since)
		}
		for namespace, l := range of.lists {
			if f.Namespace != "" && f.Namespace != namespace {
				continue
			}
			since = max(since, l.since)
			for i := range l.kept {
				if a := &l.kept[i]; f.match(a) {
					list = append(list, *a)
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b attempt) int {
		return cmp.Or(cmp.Compare(b.EndedAt, a.EndedAt), cmp.Compare(a.Namespace, b.Namespace))
	})
	return list[:min(len(list), f.Limit)], since
}
