package settings

import "github.com/foliot/foliot/internal/task"

// PurgeQueue begins a purge: it cancels every task in the queue in the
// background, and no task that enters the queue later.
//
// The store's order of changes separates the two, not a clock. A task that
// enters the queue after this edit is marked with the purge's ID
// (Settings.Spare). Therefore no clock step, and no difference between the clocks
// of nodes, makes the purge cancel a later task.
type PurgeQueue struct {
	Namespace, Name string
	ID              string // the ID of the purge, from NewID
	If              task.Precondition
}

// Action implements Edit.
func (e PurgeQueue) Action() string { return "queue.purge" }

// Target implements Edit.
func (e PurgeQueue) Target() SettingKey { return SettingKey{QueueKind, e.Namespace, e.Name} }

// Apply implements Edit. Errors: *MissingError for the namespace, *FieldError, ErrPrecondition, *BusyError.
func (e PurgeQueue) Apply(now task.Millis, s *Settings) ([]SettingChange, error) {
	q, err := s.editQueue(now, e.Namespace, e.Name, e.If)
	if err != nil {
		return nil, err
	}
	q.PurgeBefore, q.PurgeID = now, e.ID
	return change(q), nil
}

// EndPurge ends a purge, unless another purge of the queue was requested since.
type EndPurge struct {
	Namespace, Name string

	// Before and ID identify the purge that is done.
	Before task.Millis
	ID     string

	Cancelled int // the number of tasks, since the last start of the server, for the audit log
}

// Action implements Edit.
func (e EndPurge) Action() string { return "queue.purged" }

// Target implements Edit.
func (e EndPurge) Target() SettingKey { return SettingKey{QueueKind, e.Namespace, e.Name} }

// Apply implements Edit. It never fails.
func (e EndPurge) Apply(_ task.Millis, s *Settings) ([]SettingChange, error) {
	old := s.Queue(e.Namespace, e.Name)
	if old.Version == 0 || old.PurgeBefore != e.Before || old.PurgeID != e.ID {
		return nil, nil
	}
	q := *old
	q.PurgeBefore, q.PurgeID = 0, ""
	q.Version++
	return change(&q), nil
}

// Doomed returns the filter of the tasks that the current purge cancels.
func (q *QueueSettings) Doomed() task.Filter {
	return task.Filter{
		Namespace: q.Namespace, Queue: q.Name, Purge: q.PurgeID,
		States: []task.State{task.Scheduled, task.Running, task.Dead},
	}
}

// Spare marks tasks that enter a queue while its purge is under way, so that
// the purge spares them. r is the step's result, which only this goroutine has
// seen yet, and old is the record before it, or nil. Every store calls Spare
// for every step, with the settings in force at the step's place in the order
// of changes.
func (s *Settings) Spare(old *task.Task, r task.Result) {
	if t := r.Task; t != nil && t != old && entersQueue(old, t) {
		t.SparedBy = s.Queue(t.Namespace, t.Queue).PurgeID
	}
	if t := r.Spawned; t != nil {
		t.SparedBy = s.Queue(t.Namespace, t.Queue).PurgeID
	}
}

// entersQueue reports whether t, which replaces old, was not in its queue
// before.
func entersQueue(old, t *task.Task) bool {
	return old == nil || old.ID != t.ID || old.Queue != t.Queue || old.State.Finished()
}
