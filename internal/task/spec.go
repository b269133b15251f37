package task

import (
	"cmp"
	"time"
)

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

// The defaults of a task whose queue sets none.
const (
	DefaultTimeout    = 15 * time.Second
	DefaultMinBackoff = time.Second
	DefaultMaxBackoff = time.Hour
	DefaultMaxAge     = 24 * time.Hour
	DefaultMethod     = "POST"
)

// DefaultSpec returns a Spec with every default in place.
func DefaultSpec() Spec {
	return Spec{
		Key:      Key{Namespace: DefaultNamespace},
		Queue:    DefaultQueue,
		Priority: Normal,
		Request:  Request{Method: DefaultMethod},
		Timeout:  DefaultTimeout,
		Retry: Retry{
			MinBackoff: DefaultMinBackoff,
			MaxBackoff: DefaultMaxBackoff,
			MaxAge:     DefaultMaxAge,
		},
	}
}

// Policy holds the operator's settings for records that are no longer live.
type Policy struct {
	KeepFinished time.Duration
	KeepDead     time.Duration
	KeepBodies   bool // keep the bodies of finished tasks until their retention ends
}

// The retention of the embedded store.
const (
	DefaultKeepFinished = 24 * time.Hour
	DefaultKeepDead     = 30 * 24 * time.Hour
)

// WithDefaults returns p with its zero fields filled.
func (p Policy) WithDefaults() Policy {
	p.KeepFinished = cmp.Or(p.KeepFinished, DefaultKeepFinished)
	p.KeepDead = cmp.Or(p.KeepDead, DefaultKeepDead)
	return p
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
