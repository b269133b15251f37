package memstore

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// LanePages returns all lanes of a namespace, or all namespaces, in one page, with the
// exact earliest due time of lanes.
func (s *Store) LanePages(ctx context.Context, until task.Millis, reads []store.LanePageRead) ([]store.LanePage, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	pages, seen := make([]store.LanePage, len(reads)), map[task.Lane]bool{}
	names := map[string]bool{}
	for _, t := range s.scheduledLocked(math.MaxInt64) {
		names[t.Namespace] = true
	}
	for i, r := range reads {
		if pages[i].Last = true; r.Namespace == "" {
			pages[i] = store.NamespacePage(slices.Collect(maps.Keys(names)))
		}
	}
	for _, t := range s.scheduledLocked(until) {
		l := t.Lane()
		for i, r := range reads {
			if l.Namespace == r.Namespace && !seen[l] {
				pages[i].Heads = append(pages[i].Heads, task.LaneHead{Lane: l, Due: t.Due})
			}
		}
		seen[l] = true
	}
	return pages, nil
}

// Peek reads lanes without claiming.
func (s *Store) Peek(ctx context.Context, reads []store.LaneRead) ([][]task.Entry, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	found, of := make([][]task.Entry, len(reads)), map[task.Lane][]int{}
	for i, r := range reads {
		of[r.Lane] = append(of[r.Lane], i)
	}
	for _, t := range s.scheduledLocked(math.MaxInt64) {
		e := t.Entry()
		for _, i := range of[e.Lane] {
			if r := reads[i]; e.Due <= r.Until && r.After.Less(e.Position()) && len(found[i]) < r.Limit {
				found[i] = append(found[i], e)
			}
		}
	}
	return found, nil
}

// Upcoming returns waiting records in the order of their due times.
func (s *Store) Upcoming(ctx context.Context, r store.UpcomingRead) (task.Upcoming, error) {
	if err := s.enter(ctx); err != nil {
		return task.Upcoming{}, err
	}
	defer s.leave()
	page := task.NewUpcoming(r.Until)
	for _, t := range s.scheduledLocked(r.Until) {
		if t.Due < r.From || !r.Selects(t.Lane()) {
			continue
		}
		if !page.Add(t, r.Limit) {
			break
		}
	}
	return page, nil
}

// fireLocked makes a schedule create the occurrences of due instants.
func (s *Store) fireLocked(now task.Millis, st store.Step) store.Reply {
	old := s.records[st.Key]
	facts := s.factsOf(old)
	facts.Unfinished, facts.Quota = s.unfinishedLocked(st.Key), s.quotaLocked(st.Key.Namespace)
	if old != nil {
		old = s.withBodyLocked(old)
	}
	return s.transitLocked(now, old, st.Transition, facts)
}

// unfinishedLocked returns the number of unfinished occurrences of a schedule.
func (s *Store) unfinishedLocked(schedule task.Key) (n int64) {
	for _, t := range s.records {
		if line, change := task.Unfinished(nil, t); line == schedule.UnfinishedCounter() {
			n += change
		}
	}
	return n
}

// Reap takes back leases that ended at or before now, the longest ended first.
func (s *Store) Reap(ctx context.Context, now task.Millis, limit int) (int, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	lost := s.sortedLocked(
		func(t *task.Task) bool { return t.State == task.Running && t.Lease.Until <= now },
		func(t *task.Task) task.Millis { return t.Lease.Until },
	)
	lost = lost[:min(len(lost), limit)]
	for _, t := range lost {
		s.reapLocked(now, t, false)
	}
	return len(lost), nil
}

func (s *Store) reapLocked(now task.Millis, t *task.Task, gone bool) {
	s.keepLocked(t.Reap(now, gone, s.factsOf(t).Policy))
}

// Sweep removes tasks whose retention ended at or before now, the longest ended
// first, and then entries of the audit log, the oldest first.
func (s *Store) Sweep(ctx context.Context, now task.Millis, limit int) (int, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	over := s.sortedLocked(
		func(t *task.Task) bool { return !t.State.Live() && t.KeepUntil <= now },
		func(t *task.Task) task.Millis { return t.KeepUntil },
	)
	over = over[:min(len(over), limit)]
	for _, t := range over {
		s.removeLocked(t)
	}
	return len(over) + s.trimLocked(now, limit-len(over)), nil
}

// scheduledLocked returns the tasks that wait and are due by until, ordered by
// due time, then by name.
func (s *Store) scheduledLocked(until task.Millis) []*task.Task {
	return s.sortedLocked(
		func(t *task.Task) bool { return t.State == task.Scheduled && t.Due <= until },
		func(t *task.Task) task.Millis { return t.Due },
	)
}
