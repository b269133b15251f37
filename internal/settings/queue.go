package settings

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// QueueSettings holds the settings of a queue, where zero fields are not set.
type QueueSettings struct {
	Namespace string      `json:"namespace"`
	Name      string      `json:"name"`
	Version   uint64      `json:"version"`
	CreatedAt task.Millis `json:"created_at"`

	// Rate is the maximum number of attempts that start in a second, and Burst the maximum number
	// that start at once after an idle time. They form a token bucket that is checked before a
	// claim. With a Rate, a zero Burst means the attempts of one second, and at least one.
	Rate  float64 `json:"rate,omitempty"`
	Burst int     `json:"burst,omitempty"`
	// Concurrency is the maximum number of attempts under way at once, and
	// PerDestination the maximum number to one host:port.
	Concurrency    int `json:"concurrency,omitempty"`
	PerDestination int `json:"per_destination,omitempty"`

	// These are the defaults for tasks that leave the fields open, where nil and zero mean the
	// server's defaults.
	Retry       RetryDefaults `json:"retry"`
	Timeout     time.Duration `json:"timeout,omitempty"`
	ExpireAfter time.Duration `json:"expire_after,omitempty"`
	OnDead      string        `json:"on_dead,omitempty"`

	KeepFinished time.Duration `json:"keep_finished,omitempty"`
	KeepDead     time.Duration `json:"keep_dead,omitempty"`
	// KeepBodies lets finished tasks keep their bodies until their retention
	// ends, so that a delivered one can be sent again. It applies to tasks that
	// end from now on.
	KeepBodies bool `json:"keep_bodies,omitempty"`

	// ManagedBy is the name of the owner: foliot apply deletes no setting of another
	// owner.
	ManagedBy string `json:"managed_by,omitempty"`

	Paused      bool        `json:"paused,omitempty"`
	PausedUntil task.Millis `json:"paused_until,omitempty"` // zero means that the pause ends when the queue is resumed

	// PurgeBefore is the mark of the current purge, which cancels the tasks that entered the queue
	// before this time, or zero without a purge. Until the purge is done, no task of the queue is
	// claimed.
	PurgeBefore task.Millis `json:"purge_before,omitempty"`
}

// RetryDefaults is a Retry in which each field can be left open.
type RetryDefaults struct {
	MaxAttempts *int           `json:"max_attempts,omitempty"`
	MinBackoff  *time.Duration `json:"min_backoff,omitempty"`
	MaxBackoff  *time.Duration `json:"max_backoff,omitempty"`
	MaxAge      *time.Duration `json:"max_age,omitempty"`
}

// Limits of a queue.
const (
	MaxRate        = 1e6
	MaxConcurrency = 1_000_000

	// maxQueues bounds the queues with settings of one namespace.
	maxQueues = 10_000
)

func (q *QueueSettings) Key() SettingKey { return SettingKey{QueueKind, q.Namespace, q.Name} }

// Held reports whether the queue is on hold at now, so that only tasks that were run by hand are
// claimed.
func (q *QueueSettings) Held(now task.Millis) bool {
	return q.PurgeBefore != 0 || q.PausedAt(now)
}

// PausedAt reports whether the queue is paused at now.
func (q *QueueSettings) PausedAt(now task.Millis) bool {
	return q.Paused && (q.PausedUntil == 0 || now < q.PausedUntil)
}

// BurstOrDefault returns the maximum number of attempts that start at once after
// an idle time.
func (q *QueueSettings) BurstOrDefault() int {
	if q.Burst > 0 {
		return q.Burst
	}
	return max(1, int(math.Ceil(q.Rate)))
}

// Spec returns the DefaultSpec of a task in the queue.
func (q *QueueSettings) Spec() task.Spec {
	s := task.DefaultSpec()
	if q.Name != "" {
		s.Namespace, s.Queue = q.Namespace, q.Name
	}
	s.Timeout = cmp.Or(q.Timeout, s.Timeout)
	s.ExpireAfter, s.OnDead = q.ExpireAfter, q.OnDead
	task.Set(&s.Retry.MaxAttempts, q.Retry.MaxAttempts)
	task.Set(&s.Retry.MinBackoff, q.Retry.MinBackoff)
	task.Set(&s.Retry.MaxBackoff, q.Retry.MaxBackoff)
	task.Set(&s.Retry.MaxAge, q.Retry.MaxAge)
	return s
}

// Validate checks the fields that a client may set. Errors: *FieldError.
func (q *QueueSettings) Validate() error {
	if err := task.ValidateName("queue", q.Name); err != nil {
		return err
	}
	if err := task.ValidateOwner(q.ManagedBy); err != nil {
		return err
	}
	if err := validateRate("rate", q.Rate, "pause the queue"); err != nil {
		return err
	}
	switch {
	case q.Burst < 0 || q.Burst > MaxConcurrency:
		return &task.FieldError{Path: "burst", Code: "out_of_range", Detail: fmt.Sprintf("must be between 0 (one second's worth) and %d", MaxConcurrency)}
	case q.Burst > 0 && q.Rate == 0:
		return &task.FieldError{Path: "burst", Code: "out_of_range", Detail: "a burst needs a rate"}
	case q.Concurrency < 0 || q.Concurrency > MaxConcurrency:
		return &task.FieldError{Path: "concurrency", Code: "out_of_range", Detail: fmt.Sprintf("must be between 0 (no limit) and %d", MaxConcurrency)}
	case q.PerDestination < 0 || q.PerDestination > MaxConcurrency:
		return &task.FieldError{Path: "per_destination", Code: "out_of_range", Detail: fmt.Sprintf("must be between 0 (no limit) and %d", MaxConcurrency)}
	}
	if err := task.ValidateDuration("keep_finished", q.KeepFinished, 0, task.MaxDuration); err != nil {
		return err
	}
	if err := task.ValidateDuration("keep_dead", q.KeepDead, 0, task.MaxDuration); err != nil {
		return err
	}
	return q.validateDefaults()
}

// validateDefaults checks a task that leaves all fields to the queue.
func (q *QueueSettings) validateDefaults() error {
	s := q.Spec()
	if err := task.ValidateDuration("timeout", s.Timeout, task.MinTimeout, task.MaxTimeout); err != nil {
		return err
	}
	if err := task.ValidateDuration("expire_after", s.ExpireAfter, 0, task.MaxDuration); err != nil {
		return err
	}
	if err := task.ValidateOnDead(s.OnDead); err != nil {
		return err
	}
	return s.Retry.Validate()
}

// PutQueue sets all fields of a queue that a client can set, but not the pause and the purge, which
// have edits of their own.
type PutQueue struct {
	Queue QueueSettings // its ManagedBy is ignored
	Owner *string       // ManagedBy after the edit; nil keeps the present one
	If    task.Precondition
}

func (e PutQueue) Action() string { return "queue.put" }

func (e PutQueue) Target() SettingKey { return e.Queue.Key() }

// Apply implements Edit. Errors: ErrPrecondition, *MissingError for the namespace, *FieldError, *BusyError.
func (e PutQueue) Apply(now task.Millis, s *Settings) ([]SettingChange, error) {
	q := e.Queue
	if s.Namespace(q.Namespace) == nil {
		return nil, &MissingError{"namespace", q.Namespace}
	}
	old := s.Queue(q.Namespace, q.Name)
	q.ManagedBy = old.ManagedBy
	task.Set(&q.ManagedBy, e.Owner)
	if err := q.Validate(); err != nil {
		return nil, err
	}
	if err := s.roomForQueue(old, q.Namespace); err != nil {
		return nil, err
	}
	if err := e.If.CheckTag(old.Version != 0, old.ETag()); err != nil {
		return nil, err
	}
	q.Version, q.CreatedAt = old.Version+1, cmp.Or(old.CreatedAt, now)
	q.Paused, q.PausedUntil = old.Paused, old.PausedUntil
	q.PurgeBefore = old.PurgeBefore
	return change(&q), nil
}

// ETag returns the entity tag of the record, without quotes.
func (q *QueueSettings) ETag() string { return fmt.Sprintf("%d.%d", q.CreatedAt, q.Version) }

// DropQueue removes the settings of a queue, but its tasks stay, with the defaults. A
// queue with a purge under way keeps its record until the purge is done.
type DropQueue struct {
	Namespace, Name string
	If              task.Precondition
}

func (e DropQueue) Action() string { return "queue.delete" }

func (e DropQueue) Target() SettingKey { return SettingKey{QueueKind, e.Namespace, e.Name} }

// Apply implements Edit. Errors: *MissingError, ErrPrecondition, *BusyError.
func (e DropQueue) Apply(now task.Millis, s *Settings) ([]SettingChange, error) {
	old := s.Queue(e.Namespace, e.Name)
	if old.Version == 0 {
		return nil, &MissingError{"queue", e.Name}
	}
	if err := e.If.CheckTag(true, old.ETag()); err != nil {
		return nil, err
	}
	if old.PurgeBefore != 0 {
		return nil, &BusyError{"queue", e.Name, "the queue is being purged: wait until the purge ends"}
	}
	return []SettingChange{{Key: e.Target()}}, nil
}

// PauseQueue pauses or resumes a queue, while attempts under way continue.
type PauseQueue struct {
	Namespace, Name string
	Paused          bool
	Until           task.Millis // zero means that the pause ends when the queue is resumed
	If              task.Precondition
}

func (e PauseQueue) Action() string {
	if e.Paused {
		return "queue.pause"
	}
	return "queue.resume"
}

func (e PauseQueue) Target() SettingKey { return SettingKey{QueueKind, e.Namespace, e.Name} }

// Apply implements Edit, also for a queue without settings, where resuming changes nothing. Errors:
// *MissingError for the namespace, *FieldError, ErrPrecondition, *BusyError.
func (e PauseQueue) Apply(now task.Millis, s *Settings) ([]SettingChange, error) {
	q, err := s.editQueue(now, e.Namespace, e.Name, e.If)
	if err != nil {
		return nil, err
	}
	if !e.Paused && s.Queue(e.Namespace, e.Name).Version == 0 {
		return nil, nil
	}
	q.Paused, q.PausedUntil = e.Paused, 0
	if e.Paused {
		q.PausedUntil = e.Until
	}
	return change(q), nil
}

// roomForQueue refuses settings for another queue if the namespace has reached
// maxQueues. Errors: *BusyError.
func (s *Settings) roomForQueue(old *QueueSettings, namespace string) error {
	if old.Version != 0 || s.count(QueueKind, namespace) < maxQueues {
		return nil
	}
	return &BusyError{"namespace", namespace, fmt.Sprintf("it has settings for %d queues, the maximum: delete the settings of another queue", maxQueues)}
}

// editQueue returns a copy of a queue's settings for an edit, or new ones if
// there are none.
func (s *Settings) editQueue(now task.Millis, namespace, name string, cond task.Precondition) (*QueueSettings, error) {
	if s.Namespace(namespace) == nil {
		return nil, &MissingError{"namespace", namespace}
	}
	if err := task.ValidateName("queue", name); err != nil {
		return nil, err
	}
	q := *s.Queue(namespace, name)
	if err := cond.CheckTag(q.Version != 0, q.ETag()); err != nil {
		return nil, err
	}
	if err := s.roomForQueue(&q, namespace); err != nil {
		return nil, err
	}
	q.Namespace, q.Name, q.CreatedAt = namespace, name, cmp.Or(q.CreatedAt, now)
	q.Version++
	return &q, nil
}
