package codec

import (
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// A record is Format, a head (head.go), and then fields in Protocol Buffers' wire
// format, each with its number. A field that has its zero value, or that the head
// states, is left out, and numbers are never reused.
//
// Fields come in ascending order, and the fields that List mostly filters by
// come first: a page examines 10,000 records and decodes only those that it
// returns. The body is the last field, if the store keeps it in the record.
const (
	fieldState       = 1
	fieldQueue       = 3
	fieldLabel       = 4
	fieldCreatedAt   = 13
	fieldOriginalDue = 14
	fieldReason      = 30
	fieldFinishedAt  = 34
	fieldBody        = 47
	fieldQueuedAt    = 53
)

// task codes a task, without its body if it writes.
func (c *coder[T]) task(t *task.Task) {
	unsigned(c, fieldState, &t.State)
	signed(c, 2, &t.Due)
	c.lasting(fieldQueue, &t.Queue)
	c.pairs(fieldLabel, &t.Labels)
	unsigned(c, 5, &t.Priority)
	text(c, 6, &t.ID)
	unsigned(c, 7, &t.Version)
	if c.reads || t.Request.Kind == "" { // otherwise the destination follows from the kind
		c.lasting(8, &t.Request.Destination)
	}
	text(c, 9, &t.Request.URL)
	text(c, 10, &t.Request.Method)
	unsigned(c, 11, &t.Request.BodyKind)
	unsigned(c, 12, &t.Request.BodySize)
	signed(c, fieldCreatedAt, &t.CreatedAt)
	signed(c, fieldOriginalDue, &t.OriginalDue)
	signed(c, 15, &t.Timeout)
	signed(c, 16, &t.Retry.MinBackoff)
	signed(c, 17, &t.Retry.MaxBackoff)
	signed(c, 18, &t.Retry.MaxAge)
	signed(c, 19, &t.Retry.MaxAttempts)
	signed(c, 20, &t.ExpireAfter)
	c.bool(21, &t.Relative)
	signed(c, 22, &t.Delay)
	c.pairs(23, &t.Request.Headers)
	c.life(t)
}

// life codes the fields that t's life has added to the client's request.
func (c *coder[T]) life(t *task.Task) {
	c.bool(24, &t.RunNow)
	signed(c, 25, &t.Attempts)
	signed(c, 26, &t.AttemptsUsed)
	signed(c, 27, &t.Reclaims)
	signed(c, 28, &t.FirstAttemptAt)
	list(c, 29, &t.History, func(i int) { c.attempt(&t.History[i]) })
	text(c, fieldReason, &t.Reason)
	optional(c, 31, &t.Lease, func() { c.lease(t.Lease) })
	c.bool(32, &t.CancelRequested)
	signed(c, 33, &t.MaybeSendingUntil)
	signed(c, fieldFinishedAt, &t.FinishedAt)
	signed(c, 35, &t.KeepUntil)
	optional(c, 36, &t.Idempotency, func() { c.pair(&t.Idempotency.Key, &t.Idempotency.Fingerprint) })
	text(c, 37, &t.OnDead)
	text(c, 38, &t.Trace)
	c.bool(39, &t.NotifySchedule)
	optional(c, 40, &t.Recur, func() { c.recurrence(t.Recur) })
	c.bool(41, &t.Whole)
	list(c, 42, &t.Replaced, func(i int) { c.pair(&t.Replaced[i].Key, &t.Replaced[i].Fingerprint) })
	signed(c, 46, &t.Aged)
	c.lasting(48, &t.Request.Kind)
	if c.reads && t.Request.Kind != "" && t.Recur == nil { // a schedule has no destination
		t.Request.Destination = task.KindDestination(t.Request.Kind)
	}
	c.token(49, &t.CreatedBy)
	c.token(50, &t.ChangedBy)
	signed(c, 51, &t.ChangedAt)
	c.action(52, &t.ChangedAction)
	signed(c, fieldQueuedAt, &t.QueuedAt)
	if c.reads {
		text(c, bodyNum, &t.Request.Body)
	}
}

func (c *coder[T]) attempt(a *task.Attempt) {
	signed(c, 1, &a.Number)
	signed(c, 2, &a.StartedAt)
	signed(c, 3, &a.Status)
	text(c, 4, &a.Error)
	signed(c, 5, &a.Latency)
	signed(c, 6, &a.Late)
	text(c, 7, &a.Reply)
	text(c, 8, &a.Detail)
	signed(c, 9, &a.Waited)
}

func (c *coder[T]) lease(l *task.Lease) {
	text(c, 1, &l.Token)
	signed(c, 2, &l.Since)
	signed(c, 3, &l.Until)
	text(c, 4, &l.TaskID)
	signed(c, 5, &l.Timeout)
	text(c, 6, &l.Holder)
}

func (c *coder[T]) recurrence(r *task.Recurrence) {
	text(c, 1, &r.Cron)
	text(c, 2, &r.Zone)
	unsigned(c, 3, &r.Gap)
	unsigned(c, 4, &r.Fold)
	signed(c, 5, &r.Every)
	signed(c, 6, &r.Anchor)
	signed(c, 7, &r.Start)
	signed(c, 8, &r.End)
	signed(c, 9, &r.MaxRuns)
	signed(c, 10, &r.Jitter)
	unsigned(c, 11, &r.Missed)
	signed(c, 12, &r.CatchupWindow)
	signed(c, 13, &r.CatchupLimit)
	unsigned(c, 14, &r.Progress.Overlap)
	c.lasting(15, &r.Queue)
	unsigned(c, 16, &r.Priority)
	c.bool(17, &r.Paused)
	signed(c, 18, &r.PausedAt)
	signed(c, 19, &r.Last)
	signed(c, 20, &r.Civil)
	signed(c, 21, &r.Next)
	signed(c, 22, &r.Waiting)
	signed(c, 23, &r.Runs)
	signed(c, 24, &r.Limited)
	list(c, 25, &r.Fired, func(i int) { c.span(&r.Fired[i]) })
	skipped := &r.Skipped
	if r.Skipped == (recurrence.Skip{}) {
		skipped = nil
	}
	optional(c, 26, &skipped, func() { c.skip(skipped) })
	if c.reads && skipped != nil {
		r.Skipped = *skipped
	}
	text(c, 27, &r.Problem)
	text(c, 28, &r.ManagedBy)
}

func (c *coder[T]) span(s *recurrence.Span) {
	signed(c, 1, &s.From)
	signed(c, 2, &s.Until)
}

// skip codes a Skip. The format has a word of its own for missed instants.
func (c *coder[T]) skip(s *recurrence.Skip) {
	const stored = "misfire"
	c.span(&s.Span)
	why := s.Why
	if why == recurrence.SkippedMissed {
		why = stored
	}
	text(c, 3, &why)
	switch {
	case !c.reads: // other goroutines may read s
	case why == stored:
		s.Why = recurrence.SkippedMissed
	default:
		s.Why = why
	}
}
