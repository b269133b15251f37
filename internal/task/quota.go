package task

import "fmt"

// Quota holds the limits of a namespace and its present counts; the zero value
// sets no limit.
type Quota struct {
	Suspended  bool  // the namespace is stopped: it gets no new tasks
	MaxPending int64 // the limit of scheduled and running tasks plus schedules; zero means no limit
	MaxBytes   int64 // the limit of the bytes of all records; zero means no limit
	Have       Counts
}

// Admit checks the change from old, nil for a new record, to t against the
// limits. It refuses only changes that increase a count. Errors: *QuotaError,
// ErrSuspended.
func (q *Quota) Admit(old, t *Task) error {
	if !q.Suspended && q.MaxPending == 0 && q.MaxBytes == 0 {
		return nil
	}
	var diff Counts
	diff.Move(old, t)
	switch {
	case q.Suspended && diff.Pending() > 0 && t.Recur == nil: // a schedule does not fire while the namespace is suspended
		return ErrSuspended
	case q.MaxPending > 0 && diff.Pending() > 0 && q.Have.Pending()+diff.Pending() > q.MaxPending:
		return &QuotaError{t.Namespace, QuotaPending, q.MaxPending}
	case q.MaxBytes > 0 && diff.Bytes > 0 && q.Have.Bytes+diff.Bytes > q.MaxBytes:
		return &QuotaError{t.Namespace, QuotaBytes, q.MaxBytes}
	}
	return nil
}

// QuotaError says that a namespace has reached a quota.
type QuotaError struct {
	Namespace string
	Quota     string // QuotaPending or QuotaBytes
	Limit     int64
}

// The quotas of a namespace.
const (
	QuotaPending = "max_pending"
	QuotaBytes   = "max_bytes"
)

func (e *QuotaError) Error() string {
	if e.Quota == QuotaPending {
		return fmt.Sprintf("the namespace %q has %d pending tasks and schedules, the maximum: cancel some, wait for deliveries, or ask the operator for a higher max_pending", e.Namespace, e.Limit)
	}
	return fmt.Sprintf("the records of the namespace %q have %d bytes, the maximum: cancel tasks, wait until records are removed, or ask the operator for a higher max_bytes", e.Namespace, e.Limit)
}
