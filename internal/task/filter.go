package task

import (
	"slices"
	"strings"
)

// Filter selects tasks: zero fields select all, and a nil Filter matches every task.
type Filter struct {
	Namespace string
	Queue     string
	States    []State           // the task must have one of these states
	Labels    map[string]string // the task must have all these labels
	DueBefore Millis            // exclusive bound of the due time that the client requested; zero means no bound
	DueAfter  Millis            // exclusive bound of that due time; zero means no bound

	// Exclusive bounds of the end of a task that has ended; zero means no bound.
	EndedAfter, EndedBefore Millis

	EnteredBefore Millis   // exclusive bound of the time at which the task entered its queue; zero means no bound
	Reason        string   // the reason why the task is dead, expired or cancelled
	Schedule      string   // the schedule that made the task
	Prefix        string   // the beginning of the name, in the form of ValidateRecordName
	Destination   string   // that of the request
	Contains      []string // parts of the name, in lower case
}

// Match reports whether f selects t.
func (f *Filter) Match(t *Task) bool {
	switch {
	case f == nil:
		return true
	case f.Namespace != "" && t.Namespace != f.Namespace,
		t.Queue != f.Queue && (f.Queue != "" || t.Queue == ScheduleQueue), // schedules only if the filter names their queue
		len(f.States) > 0 && !slices.Contains(f.States, t.State),
		f.DueBefore != 0 && t.OriginalDue >= f.DueBefore,
		f.DueAfter != 0 && t.OriginalDue <= f.DueAfter,
		f.EnteredBefore != 0 && t.Entered() >= f.EnteredBefore,
		f.EndedAfter != 0 && (t.State.Live() || t.FinishedAt <= f.EndedAfter),
		f.EndedBefore != 0 && (t.State.Live() || t.FinishedAt >= f.EndedBefore),
		f.Destination != "" && t.Request.Destination != f.Destination,
		f.Reason != "" && t.EndReason() != f.Reason,
		f.Schedule != "" && !isOccurrenceOf(f.Schedule, t.Name),
		!strings.HasPrefix(t.Name, f.Prefix):
		return false
	}
	for _, part := range f.Contains {
		if !strings.Contains(strings.ToLower(t.Name), part) {
			return false
		}
	}
	for k, v := range f.Labels {
		if got, ok := t.Labels[k]; !ok || got != v {
			return false
		}
	}
	return true
}

func isOccurrenceOf(schedule, name string) bool {
	s, _, ok := OccurrenceOf(name)
	return ok && s == schedule
}

// NeedsName reports whether f tests the name of a task.
func (f *Filter) NeedsName() bool { return f.Schedule != "" || f.Prefix != "" || len(f.Contains) > 0 }

// Narrow returns p restricted to the names that f can select: the occurrences
// of a schedule have adjacent names, and so have names with the same beginning.
func (f *Filter) Narrow(p Page) Page {
	if f.Schedule != "" {
		p = p.within(f.Schedule+"@", f.Schedule+"A") // the character after @
	}
	if n := len(f.Prefix) - 1; n >= 0 {
		start, last := f.Prefix[:n], f.Prefix[n]
		p = p.within(start+string(last-1)+"\x7f", start+string(last+1)) // names consist of characters below \x7f
	}
	return p
}

// NarrowEnded returns p as a page of a list by ends, restricted to the ends that f can
// select.
func (f *Filter) NarrowEnded(now Millis, p Page) Page {
	p.ByEnd = now
	if f.EndedAfter != 0 {
		p = p.within("", EndedPlace(f.EndedAfter, ""))
	}
	if f.EndedBefore != 0 {
		p.After = max(p.After, EndedPlace(f.EndedBefore-1, ""))
	}
	return p
}

// within returns p restricted to names after one name and before another.
func (p Page) within(after, before string) Page {
	p.After = max(p.After, after)
	if p.Before == "" || before < p.Before {
		p.Before = before
	}
	return p
}

// Page selects a part of a list.
type Page struct {
	After  string // list only names (or ended places) after this one, a Listing's Next; empty means no bound
	Before string // list only those before this one; empty means no bound
	Limit  int    // the maximum number of tasks
	Bodies bool   // load the bodies of the tasks

	// ByEnd lists tasks that have ended, with a retention that ends after it, in the
	// order of EndedPlace: After, Before and Next are such places.
	ByEnd Millis
}

// The bounds of the records that are examined for one page, and of the sum of its
// tasks' weights. The last task can exceed that sum, so a page can be shorter than its
// limit, or empty and have a Next.
const (
	MaxPageExamined = 10_000
	MaxPageBytes    = 2 << 20
)

// Listing is one page of tasks.
type Listing struct {
	Tasks []*Task
	Next  string // "": this was the last page
}

// Weight returns the approximate number of bytes that t takes in a page: the
// texts of its clients and receivers, and its body if that is loaded.
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
