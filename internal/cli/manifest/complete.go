package manifest

import (
	"cmp"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// QueueKey returns the key of the queue of a schedule's tasks.
func (o *Object) QueueKey() Key {
	return Key{Queue, o.Namespace, cmp.Or(o.ScheduleSpec.Task.Queue, task.DefaultQueue)}
}

// Complete returns the object with all defaults, as a server would return it.
// The fields that a schedule leaves out have the defaults of queue, which are
// the settings of the queue of its tasks. The owner is removed.
func (o Object) Complete(queue client.QueueSettings) Object {
	*o.Owner() = ""
	switch o.Kind {
	case Queue:
		o.QueueSettings.ExpireAfter = max(o.QueueSettings.ExpireAfter, 0) // client.Forever too means no limit
	case Schedule:
		completeRule(&o.ScheduleSpec)
		completeTask(&o.ScheduleSpec.Task, queue)
	}
	return o
}

func completeRule(s *client.ScheduleSpec) {
	rule := recurrence.Rule{Every: s.Every}
	if s.Cron != "" && rule.SetCron(s.Cron) == nil { // check reports the error
		s.Cron, s.Every = rule.Cron, rule.Every
	}
	if s.Cron != "" {
		s.TimeZone = cmp.Or(s.TimeZone, recurrence.DefaultZone)
		s.DSTGap, s.DSTOverlap = cmp.Or(s.DSTGap, cron.Gap(0).String()), cmp.Or(s.DSTOverlap, cron.Overlap(0).String())
	}
	s.Anchor, s.SetRuns = time.Time{}, 0 // not in a file
	s.Start, s.End = rounded(s.Start), rounded(s.End)
	s.Missed, s.Overlap = cmp.Or(s.Missed, client.FireOnce), cmp.Or(s.Overlap, client.AllowOverlap)
	s.CatchupLimit = cmp.Or(s.CatchupLimit, recurrence.DefaultCatchupLimit)
	if s.CatchupWindow == nil {
		s.CatchupWindow = new(recurrence.DefaultCatchupWindow)
	}
	if s.Paused == nil {
		s.Paused = new(false)
	}
}

// rounded returns a time as a server keeps it.
func rounded(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return task.CeilMillis(t).Time()
}

func completeTask(t *client.Spec, queue client.QueueSettings) {
	t.Queue, t.Priority = cmp.Or(t.Queue, task.DefaultQueue), cmp.Or(t.Priority, client.Normal)
	if t.Work.Kind == "" {
		t.HTTP.Method = cmp.Or(t.HTTP.Method, task.DefaultMethod)
	}
	t.Timeout = cmp.Or(t.Timeout, queue.Timeout, task.DefaultTimeout)
	t.ExpireAfter = cmp.Or(t.ExpireAfter, queue.ExpireAfter, client.Forever)
	t.OnDead = cmp.Or(t.OnDead, client.NotifyURL(queue.OnDead), client.NoDeadNotice)
	r := &t.Retry
	r.MaxAttempts = cmp.Or(r.MaxAttempts, queue.Retry.MaxAttempts, client.Unlimited)
	r.MinBackoff = cmp.Or(r.MinBackoff, queue.Retry.MinBackoff, task.DefaultMinBackoff)
	r.MaxBackoff = cmp.Or(r.MaxBackoff, queue.Retry.MaxBackoff, task.DefaultMaxBackoff)
	r.MaxAge = cmp.Or(r.MaxAge, queue.Retry.MaxAge, client.Duration(task.DefaultMaxAge))
}
