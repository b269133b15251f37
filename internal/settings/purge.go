package settings

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// PurgeSkew is how far the clock of a caller may be ahead of the store's, or behind it,
// without an effect on a purge. The mark of a purge is PurgeSkew later than its
// request, and the reply comes another PurgeSkew later. So a purge cancels all tasks
// that were in the queue at the request, and none that enters it after the reply.
const PurgeSkew = time.Second

// PurgeQueue begins a purge: it cancels, in the background, the tasks that
// entered the queue before QueueSettings.PurgeBefore. The caller replies
// 2 × PurgeSkew after the time of the edit.
type PurgeQueue struct {
	Namespace, Name string
	If              task.Precondition
}

func (e PurgeQueue) Action() string { return "queue.purge" }

func (e PurgeQueue) Target() SettingKey { return SettingKey{QueueKind, e.Namespace, e.Name} }

// Apply implements Edit. Errors: *MissingError for the namespace, *FieldError, ErrPrecondition, *BusyError.
func (e PurgeQueue) Apply(now task.Millis, s *Settings) ([]SettingChange, error) {
	q, err := s.editQueue(now, e.Namespace, e.Name, e.If)
	if err != nil {
		return nil, err
	}
	q.PurgeBefore = max(now.Add(PurgeSkew), q.PurgeBefore+1) // each purge has its own mark: see EndPurge
	return change(q), nil
}

// EndPurge ends a purge, unless another purge of the queue was requested since.
type EndPurge struct {
	Namespace, Name string
	Before          task.Millis // the mark of the purge that is done
	Cancelled       int         // the number of tasks cancelled since the server's last start, for the audit log
}

func (e EndPurge) Action() string { return "queue.purged" }

func (e EndPurge) Target() SettingKey { return SettingKey{QueueKind, e.Namespace, e.Name} }

// Apply implements Edit, and never fails.
func (e EndPurge) Apply(_ task.Millis, s *Settings) ([]SettingChange, error) {
	old := s.Queue(e.Namespace, e.Name)
	if old.Version == 0 || old.PurgeBefore != e.Before {
		return nil, nil
	}
	q := *old
	q.PurgeBefore = 0
	q.Version++
	return change(&q), nil
}

// Doomed returns the filter of the tasks that the current purge cancels.
func (q *QueueSettings) Doomed() task.Filter {
	return task.Filter{
		Namespace: q.Namespace, Queue: q.Name, EnteredBefore: q.PurgeBefore,
		States: []task.State{task.Scheduled, task.Running, task.Dead},
	}
}
