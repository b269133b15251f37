package activity

import (
	"cmp"
	"slices"

	"github.com/foliot/foliot/internal/task"
)

const (
	// Kept is the number of attempts that are kept of each kind: those that
	// delivered their task, and all others. So deliveries do not displace
	// failures.
	Kept = 1000
	// perSecond is the number of attempts of each kind that are kept in one
	// second.
	perSecond = 100
)

// ring has the last attempts of one kind.
type ring struct {
	kept   []Attempt // at most Kept
	next   int       // the place of the next attempt, if kept is full
	second task.Millis
	left   int    // attempts that may still be kept in this second
	missed uint64 // attempts that were not kept
}

// place returns the place for an attempt, or nil if it is not kept.
func (r *ring) place(now task.Millis) *Attempt {
	if second := now / 1000; second != r.second {
		r.second, r.left = second, perSecond
	}
	if r.left == 0 {
		r.missed++
		return nil
	}
	r.left--
	if len(r.kept) < Kept {
		r.kept = append(r.kept, Attempt{})
		return &r.kept[len(r.kept)-1]
	}
	place := &r.kept[r.next]
	r.next = (r.next + 1) % Kept
	return place
}

// Filter selects attempts.
type Filter struct {
	Namespace, Queue string // empty means any
	Outcomes         []string
	Since            task.Millis // only attempts that ended at this time or later
	Limit            int
}

func (f *Filter) match(a *Attempt) bool {
	return (f.Namespace == "" || a.Namespace == f.Namespace) && (f.Queue == "" || a.Queue == f.Queue) &&
		a.EndedAt >= f.Since && (len(f.Outcomes) == 0 || slices.Contains(f.Outcomes, a.Outcome))
}

// Recent returns the kept attempts that match, the latest first, and the number
// of attempts of all namespaces that were not kept since the start.
func (r *Recorder) Recent(f Filter) (list []Attempt, missed uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, from := range []*ring{&r.good, &r.bad} {
		missed += from.missed
		for i := range from.kept {
			if a := &from.kept[i]; f.match(a) {
				list = append(list, *a)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Attempt) int { return cmp.Compare(b.EndedAt, a.EndedAt) })
	return list[:min(len(list), f.Limit)], missed
}
