package settings

import (
	"cmp"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// FormerRetention has retentions that no queue of a namespace has any more, but
// that records can still have: those that ended before a queue got another one.
type FormerRetention struct {
	Finished DurationRange `json:"finished"`
	Dead     DurationRange `json:"dead"`
	Until    task.Millis   `json:"until"` // the last of these records is removed by then
}

// DurationRange has all durations from Shortest to Longest. If both are 0, it is
// empty.
type DurationRange struct {
	Shortest time.Duration `json:"shortest,omitempty"`
	Longest  time.Duration `json:"longest,omitempty"`
}

// with returns the smallest range that has the durations of r, and d. If d is 0,
// it returns r.
func (r DurationRange) with(d time.Duration) DurationRange {
	if d == 0 {
		return r
	}
	return DurationRange{min(cmp.Or(r.Shortest, d), d), max(r.Longest, d)}
}

// otherNodes is a bound of the time after which all servers know a change of the
// settings. Until then they end tasks with the old retention.
const otherNodes = time.Minute

// formerRetention returns the change that notes the retentions of a queue whose
// settings change from old to q, or nil if they stay the same.
func (s *Settings) formerRetention(now task.Millis, old, q *QueueSettings) []SettingChange {
	finished, dead := replaced(old.KeepFinished, q.KeepFinished), replaced(old.KeepDead, q.KeepDead)
	if finished == 0 && dead == 0 {
		return nil
	}
	n, f := *s.Namespace(old.Namespace), FormerRetention{}
	if n.Former != nil && now < n.Former.Until {
		f = *n.Former
	}
	f.Finished, f.Dead = f.Finished.with(finished), f.Dead.with(dead)
	f.Until = max(f.Until, now.Add(max(finished, dead)+otherNodes))
	n.Former = &f
	return change(&n)
}

// replaced returns the old retention if the new one differs, or 0.
func replaced(old, after time.Duration) time.Duration {
	if after == old {
		return 0
	}
	return old
}

// EndedSpan is a part of an index that has ended tasks in the order of KeepUntil.
// It has those with After < KeepUntil <= Upto.
type EndedSpan struct {
	After, Upto task.Millis

	// Keep is the shortest retention of the tasks in the span. So each of them has
	// ended at its KeepUntil - Keep or before.
	Keep time.Duration
}

// MaxEndedSpans bounds the number of spans, because each one is read separately.
const MaxEndedSpans = 8

// clockError bounds how far the end of a task can be after the latest time that the
// process has seen. clockStep bounds it if the clock was set back before the process
// began.
const (
	clockError = time.Second
	clockStep  = time.Hour
)

// EndedSpans divides the index of dead or finished tasks, so that a search by the
// time of the end can read each span backwards. latest is the latest time at which
// a task can have ended: now, or later if the clock was set back. So a task with the
// retention r has a KeepUntil of at most latest + r: only tasks with longer
// retentions come after it. The spans contain all tasks of the namespace, except
// tasks that ended in an earlier process with another base: no store knows that
// base. A task can have moved to its queue from one with another retention, so a
// search in one queue needs all spans too. There are at most most of them.
func (s *Settings) EndedSpans(base task.Policy, namespace string, dead bool, now, latest task.Millis, most int) []EndedSpan {
	retention := func(finished, ifDead time.Duration) time.Duration {
		if dead {
			return ifDead
		}
		return finished
	}
	known := []time.Duration{retention(base.KeepFinished, base.KeepDead)}
	longest := known[0]
	for _, r := range s.List(QueueKind, "") {
		q := r.(*QueueSettings)
		d := retention(q.KeepFinished, q.KeepDead)
		longest = max(longest, d)
		if d != 0 && q.Namespace == namespace {
			known = append(known, d)
		}
	}
	groups := groupRetentions(known, s.former(namespace, dead, now), most)
	spans, after := make([]EndedSpan, len(groups)), now
	for i, g := range groups {
		upto := latest.Add(g.Longest).Add(clockError)
		spans[i] = EndedSpan{After: after, Upto: upto, Keep: g.Shortest}
		after = upto
	}
	last := &spans[len(spans)-1]
	last.Upto = last.Upto.Add(clockStep)
	if groups[len(groups)-1].Longest >= longest {
		last.Upto = task.Never // no queue keeps tasks for longer
	}
	return spans
}

// former returns the retentions that the queues of a namespace had.
func (s *Settings) former(namespace string, dead bool, now task.Millis) DurationRange {
	n := s.Namespace(namespace)
	switch {
	case n == nil || n.Former == nil || n.Former.Until <= now:
		return DurationRange{}
	case dead:
		return n.Former.Dead
	}
	return n.Former.Finished
}

// groupRetentions returns ranges that have all known durations and the former
// ones, sorted, and at most most. If there are too many, the durations
// that differ least share a range.
func groupRetentions(known []time.Duration, former DurationRange, most int) (groups []DurationRange) {
	for _, d := range known {
		groups = append(groups, DurationRange{d, d})
	}
	if former != (DurationRange{}) {
		groups = append(groups, former)
	}
	slices.SortFunc(groups, func(a, b DurationRange) int { return cmp.Compare(a.Shortest, b.Shortest) })
	groups = mergeRanges(groups, 1)
	for ratio := time.Duration(2); len(groups) > most; ratio *= 2 {
		groups = mergeRanges(groups, ratio)
	}
	return groups
}

// mergeRanges merges a range into the previous one if they overlap, or if its
// Shortest is less than ratio times the Shortest of the previous one.
func mergeRanges(groups []DurationRange, ratio time.Duration) []DurationRange {
	merged := groups[:1]
	for _, g := range groups[1:] {
		last := &merged[len(merged)-1]
		if g.Shortest <= last.Longest || g.Shortest/ratio < last.Shortest {
			last.Longest = max(last.Longest, g.Longest)
		} else {
			merged = append(merged, g)
		}
	}
	return merged
}
