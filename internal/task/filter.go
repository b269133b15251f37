package task

import "slices"

// Filter chooses tasks. Zero fields choose all; a nil Filter matches everything.
type Filter struct {
	Namespace string
	Queue     string
	States    []State           // any of them
	Labels    map[string]string // all of them
	DueBefore Millis            // exclusive; 0: no bound. The due time is the one that was asked for
	DueAfter  Millis            // exclusive; 0: no bound

	CreatedUntil Millis // inclusive; 0: no bound
	Purge        string // tasks that the purge with this ID does not spare; "": all
	Reason       string // why it is dead, expired or cancelled
	Schedule     string // which made it
}

// Match reports whether t is chosen.
func (f *Filter) Match(t *Task) bool {
	switch {
	case f == nil:
		return true
	case f.Namespace != "" && t.Namespace != f.Namespace,
		t.Queue != f.Queue && (f.Queue != "" || t.Queue == ScheduleQueue), // schedules must be asked for
		len(f.States) > 0 && !slices.Contains(f.States, t.State),
		f.DueBefore != 0 && t.OriginalDue >= f.DueBefore,
		f.DueAfter != 0 && t.OriginalDue <= f.DueAfter,
		f.CreatedUntil != 0 && t.CreatedAt > f.CreatedUntil,
		f.Purge != "" && t.SparedBy == f.Purge,
		f.Reason != "" && t.EndReason() != f.Reason,
		f.Schedule != "" && !madeBy(f.Schedule, t.Name):
		return false
	}
	for k, v := range f.Labels {
		if got, ok := t.Labels[k]; !ok || got != v {
			return false
		}
	}
	return true
}

func madeBy(schedule, name string) bool {
	s, _, ok := OccurrenceOf(name)
	return ok && s == schedule
}

// Narrow returns p, cut to the names that f can choose: those of a schedule's tasks stand together.
func (f *Filter) Narrow(p Page) Page {
	if f.Schedule != "" {
		p.After, p.Before = max(p.After, f.Schedule+"@"), f.Schedule+"A" // which comes after @
	}
	return p
}

// Page says which part of a listing is wanted.
type Page struct {
	After  string // the name after which to go on: a Listing's Next; "" from the start
	Before string // the name before which to end; "": no bound
	Limit  int    // at most this many tasks
	Bodies bool   // load the bodies too
}

// Bounds of one page: the records examined, and the Weight of its tasks, which
// the last one may exceed. A page may be short, or empty with a Next.
const (
	MaxPageExamined = 10_000
	MaxPageBytes    = 2 << 20
)

// Listing is one page of tasks.
type Listing struct {
	Tasks []*Task
	Next  string // "": there is no more
}

// Weight returns about how many bytes of a page t takes: the texts of its
// clients and receivers, and its body where that is loaded.
func (t *Task) Weight() int {
	n := len(t.Request.URL) + len(t.OnDead) + len(t.Request.Body)
	for name, value := range t.Request.Headers {
		n += len(name) + len(value)
	}
	for key, value := range t.Labels {
		n += len(key) + len(value)
	}
	for i := range t.History {
		n += len(t.History[i].Error) + len(t.History[i].Reply)
	}
	return n
}
