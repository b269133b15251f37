package memstore

import (
	"context"
	"slices"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// Configure applies edits, one after the other, in one critical section.
func (s *Store) Configure(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	before, replies := s.settings.Load(), make([]settings.EditReply, len(edits))
	for i, e := range edits {
		replies[i] = s.editLocked(now, settings.ActorOf(ctx), e)
	}
	after := s.settings.Load()
	s.leave()
	if after != before {
		s.Watchers.Settings(after)
	}
	return replies, nil
}

func (s *Store) editLocked(now task.Millis, who settings.Actor, e settings.Edit) settings.EditReply {
	current := s.settings.Load()
	if entries, ok := e.(settings.Note); ok {
		for _, entry := range entries {
			s.auditLocked(entry)
		}
	}
	if d, ok := e.(settings.DropNamespace); ok {
		e = s.countedLocked(d)
	}
	changes, err := e.Apply(now, current)
	if err != nil || len(changes) == 0 {
		return settings.EditReply{Err: err}
	}
	s.settings.Store(current.With(changes...))
	if entry, ok := settings.AuditEdit(now, who, e, changes); ok {
		s.auditLocked(entry)
	}
	return settings.EditReply{Changes: changes}
}

// countedLocked returns d with the counts of its namespace.
func (s *Store) countedLocked(d settings.DropNamespace) settings.DropNamespace {
	for _, t := range s.records {
		if t.Namespace == d.Name {
			var one task.Counts
			one.Move(nil, t)
			d.Count(t.Queue, one)
		}
	}
	return d
}

// Counts counts the records of every queue.
func (s *Store) Counts(ctx context.Context) (map[task.QueueKey]task.Counts, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	counts := map[task.QueueKey]task.Counts{}
	for _, t := range s.records {
		key := task.QueueKey{Namespace: t.Namespace, Queue: t.Queue}
		c := counts[key]
		c.Move(nil, t)
		counts[key] = c
	}
	return counts, nil
}

// admitLocked checks that the namespace exists, and that its quotas allow the
// change from old to t.
func (s *Store) admitLocked(old, t *task.Task) error {
	if err := s.settings.Load().Takes(old, t); err != nil {
		return err
	}
	q := s.quotaLocked(t.Namespace)
	return q.Admit(old, t)
}

// quotaLocked returns the limits of a namespace, and its counts if they matter.
func (s *Store) quotaLocked(namespace string) task.Quota {
	q := s.settings.Load().Namespace(namespace).Quota(task.Counts{})
	if q.MaxPending == 0 && q.MaxBytes == 0 {
		return q
	}
	for _, r := range s.records {
		if r.Namespace == namespace {
			q.Have.Move(nil, r)
		}
	}
	return q
}

func (s *Store) auditLocked(e settings.AuditEntry) {
	s.seq++
	e.Seq = s.seq
	s.log = append(s.log, e)
	s.log = s.log[max(0, len(s.log)-settings.MaxAuditEntries):]
}

// trimLocked removes at most limit entries from the beginning of the audit log
// whose retention ended at or before now. It stops at the first entry that must
// stay, even if the clock was set back and later entries are older.
func (s *Store) trimLocked(now task.Millis, limit int) int {
	n := 0
	for n < min(limit, len(s.log)) && s.log[n].At.Add(s.auditKeep) <= now {
		n++
	}
	s.log = s.log[n:]
	return n
}

// Audit returns one page of the audit log.
func (s *Store) Audit(ctx context.Context, f settings.AuditFilter, before uint64, limit int) (settings.AuditPage, error) {
	if err := s.enter(ctx); err != nil {
		return settings.AuditPage{}, err
	}
	defer s.leave()
	var page settings.AuditPage
	examined := 0
	for _, e := range slices.Backward(s.log) {
		switch {
		case before != 0 && e.Seq >= before:
			continue
		case examined == task.MaxPageExamined || len(page.Entries) >= limit:
			return page, nil
		}
		examined++
		page.Next = e.Seq
		if f.Match(&e) {
			page.Entries = append(page.Entries, e)
		}
	}
	page.Next = 0
	return page, nil
}
