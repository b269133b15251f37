package task

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Task is the record of durable work and the time to do it: an HTTP request, or
// a call of a handler.
//
// A *Task that was passed to a store, or returned by one, is never modified,
// because transitions copy it first, so several goroutines can read it.
type Task struct {
	Namespace string
	Name      string
	ID        string // new for each incarnation of a name; the webhook-id of all its attempts
	Version   uint64 // counts the changes by clients; attempts do not change it

	Queue    string
	Priority Priority
	Labels   map[string]string
	Request  Request

	Timeout     time.Duration // the limit of one attempt
	ExpireAfter time.Duration // counts from OriginalDue; zero means that the task never expires
	Retry       Retry
	OnDead      string // a URL that is called when the task dies; "": none
	Trace       string // the creator's span, as W3C traceparent; "": none

	Relative bool          // set if the task was created with a delay, which a touch can repeat
	Delay    time.Duration // valid if Relative

	CreatedAt   Millis
	QueuedAt    Millis // when it was last moved into its queue or retried; zero means never
	CreatedBy   string // the id of the token that made this incarnation; "": a caller without a token, a schedule, or the death of a task
	OriginalDue Millis // the due time that a client last requested; retries do not move it
	Due         Millis // the start of the next attempt

	State  State
	RunNow bool // set if the task was run by hand; unless it is in quarantine, it waits in the lane that ignores pause and rate

	Attempts       int    // the number of attempts started in this incarnation, and the number of the last attempt
	AttemptsUsed   int    // attempts that count against Retry.MaxAttempts
	Reclaims       int    // consecutive claims that ended without a settlement, because the process died or the lease ended
	FirstAttemptAt Millis // the start of the first attempt that counts; zero means none yet
	// Aged is the time that counts against Retry.MaxAge: the failed attempts and
	// the waits after them, measured with monotonic clocks and without downtime:
	// see age.
	Aged    time.Duration
	History []Attempt // the last MaxHistory attempts, oldest first; a finished task keeps only the reply of the last attempt
	Reason  string    // the reason why it is dead, expired or cancelled, or will be (CancelRequested): then "" is ReasonCancelled; "" otherwise

	Lease           *Lease // not nil exactly while the state is Running
	CancelRequested bool   // set if the task was cancelled while running, so no retry follows

	// MaybeSendingUntil is set when a lease was lost and not settled, because
	// until that time its attempt might still be sending, and a cancel reports
	// that.
	MaybeSendingUntil Millis

	// The last change of this incarnation by a client: see Sign.
	ChangedAt     Millis // zero: it was not changed since it was created
	ChangedBy     string // as CreatedBy
	ChangedAction string // Change.Action

	FinishedAt Millis // the time at which it became finished or dead
	KeepUntil  Millis // the time from which a finished or dead record may be swept
	Whole      bool   // set if the queue kept the body of a finished task, so the task can be sent again

	Idempotency *Idempotency  // recognises a repeat of the request that made the task; nil means no key
	Replaced    []Idempotency // the marks of earlier incarnations, newest first, at most maxReplaced

	Recur          *Recurrence // not nil exactly for a schedule
	NotifySchedule bool        // set if the store must notify the schedule of this occurrence's end, for which it can wait
}

// Spec is a task as a client requests it, without the fields that its life adds;
// DefaultSpec has the defaults.
type Spec struct {
	Key
	ID string // identifies the incarnation that the spec begins; see NewID and deriveID

	Queue    string
	Priority Priority
	Labels   map[string]string
	Request  Request

	When           When
	Timeout        time.Duration
	ExpireAfter    time.Duration
	Retry          Retry
	OnDead         string
	Trace          string
	NotifySchedule bool // see Task
}

// When is a due time, absolute or relative to the moment it is accepted.
type When struct {
	At       Millis        // valid if not Relative; a past time is due now
	Relative bool          //
	Delay    time.Duration // valid if Relative
	Next     Millis        // the earliest start of the first attempt, if not Relative; zero means the due time
}

// due returns the due time that w names at now, and is the only place that
// computes it. The caller of Apply rounds now up (CeilMillis), so that no delay
// is shortened.
func (w When) due(now Millis) Millis {
	if w.Relative {
		return now.Add(w.Delay)
	}
	return w.At
}

// begin returns the first record of the incarnation that s describes.
func (s *Spec) begin(now Millis) *Task {
	t := s.record(now)
	return t.Clone() // the caller owns the maps of s
}

// beginOnce is begin for a request with the idempotency key i, nil for none.
func (s *Spec) beginOnce(now Millis, i *Idempotency) *Task {
	t := s.begin(now)
	if i != nil {
		mark := *i
		t.Idempotency = &mark
	}
	return t
}

// record is begin, but the record shares the maps of s, and the result is no
// pointer, so that a record that is only validated or cloned stays on the stack.
func (s *Spec) record(now Millis) Task {
	due := s.When.due(now)
	t := Task{
		Namespace: s.Namespace, Name: s.Name, ID: s.ID, Version: 1,
		Queue: s.Queue, Priority: s.Priority, Labels: s.Labels, Request: s.Request,
		Timeout: s.Timeout, ExpireAfter: s.ExpireAfter, Retry: s.Retry, OnDead: s.OnDead, Trace: s.Trace, NotifySchedule: s.NotifySchedule,
		Relative: s.When.Relative, Delay: s.When.Delay,
		CreatedAt: now, OriginalDue: due, Due: max(due, s.When.Next),
		State: Scheduled,
	}
	t.Request.BodySize = len(s.Request.Body)
	return t
}

// Request is the work of a task: an HTTP request, or, if Kind is set, a call of a
// handler, where URL, Method and Headers are empty, and Body has the arguments.
type Request struct {
	URL         string
	Method      string
	Headers     map[string]string // names as the client wrote them, unique ignoring case
	Kind        string            // the name of the kind, whose handler runs in the process that has the lease; "": an HTTP request
	Destination string            // host:port of URL in one spelling, or the destination of the kind: derived, part of the lane

	BodyKind BodyKind
	BodySize int // derived from a Spec's Body
	// Body is stored apart from the record, so that a claim does not rewrite it.
	// A body that is not loaded is nil, although BodySize is not 0, while a
	// loaded one has BodySize bytes. A finished task keeps no body, unless it is
	// Whole.
	Body []byte
}

// BodyKind is the form in which a body was given, a number that is part of the
// disk format. A reply shows the body in the same form, and delivery chooses a
// content type by it.
type BodyKind uint8

// The kinds of body.
const (
	NoBody     BodyKind = iota
	TextBody            // a JSON string; text/plain unless a header says otherwise
	JSONBody            // any other JSON value, byte for byte as received
	BinaryBody          // bytes; application/octet-stream unless a header says otherwise
)

// Lease identifies the claim that runs the task, and its end.
type Lease struct {
	Token  Token  // proves, at the settlement, that the lease is still held
	Since  Millis // when it was claimed
	Until  Millis // the end, on the store's clock
	TaskID string // the incarnation being delivered; after a replace the record has another ID
	Holder string // the node that claimed the task

	Timeout time.Duration // the timeout of the attempt; a later change of the record does not apply to it
}

// Token is a claim's secret, unique for each claim.
type Token string

// Attempt is one HTTP request that was made for a task, and how it ended.
type Attempt struct {
	Number    int
	StartedAt Millis
	Status    int           // zero means that no reply came
	Error     string        // "" for a 2xx
	Detail    string        // for operators only; mostly ""
	Latency   time.Duration // from the start to the reply's end, or to the error
	Late      time.Duration // see Outcome
	Waited    time.Duration // see Outcome
	Reply     string        // the reply's first bytes, at most MaxReplyKept
}

// Key returns the task's key.
func (t *Task) Key() Key { return Key{Namespace: t.Namespace, Name: t.Name} }

// Entered returns the time at which the task entered its queue.
func (t *Task) Entered() Millis { return cmp.Or(t.QueuedAt, t.CreatedAt) }

// Lane returns the lane in which the task waits. Quarantine precedes RunNow,
// because a task that may crash the process gets no precedence when it is run by
// hand.
func (t *Task) Lane() Lane {
	l := Lane{Namespace: t.Namespace, Queue: t.Queue, Priority: t.Priority, Destination: t.Request.Destination}
	switch {
	case t.Reclaims >= QuarantineAfter:
		l.Priority = Quarantine
	case t.RunNow:
		l.Priority = RunNow
	}
	return l
}

// Entry returns the task as its lane's index shows it.
func (t *Task) Entry() Entry { return Entry{Name: t.Name, Lane: t.Lane(), Due: t.Due} }

// NextAttempt returns the start of the next attempt, or 0 if the task has ended,
// or if an attempt of this incarnation is under way, because that one can be the
// last.
func (t *Task) NextAttempt() Millis {
	if t.State == Scheduled || t.Superseded() {
		return t.Due
	}
	return 0
}

// Superseded reports whether the attempt under way belongs to an incarnation
// that has been replaced.
func (t *Task) Superseded() bool { return t.Lease != nil && t.Lease.TaskID != t.ID }

// UnderWay reports whether an attempt might be under way at now, or might still
// begin although the task was changed. Either an attempt holds the lease of the
// task, or an attempt has lost that lease and might still be sending.
func (t *Task) UnderWay(now Millis) bool { return t.State == Running || now < t.MaybeSendingUntil }

// ExpiresAt returns the time at which the task expires, or 0 for never.
func (t *Task) ExpiresAt() Millis {
	if t.ExpireAfter == 0 {
		return 0
	}
	return t.OriginalDue.Add(t.ExpireAfter)
}

// Clone returns a copy that shares nothing with t but the bytes of its body,
// which are never modified.
func (t *Task) Clone() *Task {
	c := *t
	c.Labels = maps.Clone(t.Labels)
	c.Request.Headers = maps.Clone(t.Request.Headers)
	c.History = slices.Clone(t.History)
	if t.Lease != nil {
		lease := *t.Lease
		c.Lease = &lease
	}
	if t.Idempotency != nil {
		idem := *t.Idempotency
		c.Idempotency = &idem
	}
	c.Replaced = slices.Clone(t.Replaced)
	if t.Recur != nil {
		c.Recur = t.Recur.clone()
	}
	return &c
}

// WithoutBody returns t itself if no body is loaded, and otherwise a copy without
// the body's bytes.
func (t *Task) WithoutBody() *Task {
	if t.Request.Body == nil {
		return t
	}
	c := *t
	c.Request.Body = nil
	return &c
}
