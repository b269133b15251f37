package client

import (
	"strconv"
	"time"
)

// Spec describes a task to create, with defaults for zero fields. It marshals
// to the API's JSON and back.
type Spec struct {
	// Name is unique in the namespace: at most 256 letters, digits and . _ : -
	// characters. Default: a name derived from the Idempotency-Key.
	Name string
	// Queue is the queue whose limits it shares. Default: "default".
	Queue string

	// At is the due time, rounded up to the millisecond, and a time in the past
	// means now. The zero time means that Local or Delay sets the due time.
	At time.Time
	// Local is the due time in the time zone TimeZone: "2027-03-28 09:00", with
	// seconds and milliseconds if needed. A time that a clock change skips means
	// the end of the gap, and one that occurs twice means the first. Replies have
	// only the instant.
	Local    string
	TimeZone string // such as Europe/Berlin; set it together with Local
	// Delay sets the due time, counted from when the server accepts the task,
	// and is at most 100 years. If At, Local and Delay are zero, the task is due
	// at once. Only a task created with a delay can be touched.
	Delay time.Duration

	HTTP HTTP // the request to send; set exactly one of HTTP and Work
	Work Work // the call of a handler

	// Timeout is the time limit of one attempt, from 1ms to 1h, both included.
	// Default: the queue's, or 15s.
	Timeout time.Duration
	// ExpireAfter counts from the due time: if no attempt has started by then,
	// none will. Forever means that the task never expires. Default: the
	// queue's, or Forever.
	ExpireAfter Duration
	// Priority sets which due tasks start first. Default: Normal.
	Priority Priority
	// Labels can be used to find the task. Default: none.
	Labels map[string]string
	// Retry sets when the task is tried again. Default: the queue's, or the
	// server's.
	Retry Retry
	// OnDead is the URL that is notified when the task dies, unless it is
	// NoDeadNotice. Default: the queue's, or NoDeadNotice.
	OnDead DeadNotice

	// FirstAttempt is the start of its first attempt, if that is later than At,
	// for a task that waited for a retry on the server it is moved from.
	// ExpireAfter still counts from At. Default: At.
	FirstAttempt time.Time
	// Parent is the span to which the spans of its attempts are linked, as a
	// W3C traceparent. Default: the span of the request that creates the task.
	Parent string
}

// HTTP is the request to send.
type HTTP struct {
	URL string
	// Method is GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS. Default: POST.
	Method string
	// Headers are sent as they are, but headers of the connection, Foliot-… and
	// webhook-… are refused.
	Headers map[string]string
	// Body is the result of JSON, Text or Bytes. Default: no body.
	Body Body
}

// Work is the call of a handler, which a Go program that embeds Foliot runs.
type Work struct {
	// Kind selects the handler. It has 1 to 128 characters: letters, digits and
	// . _ : - are allowed, and the first must be a letter or a digit.
	Kind string
	// Args are the arguments: the result of JSON, where a null means no
	// arguments. Default: no arguments.
	Args Body
}

// Retry sets when a task is tried again, with the queue's defaults for zero
// fields.
type Retry struct {
	// MaxAttempts is the highest number of attempts, or Unlimited, with which
	// only MaxAge ends them. The server's default is Unlimited.
	MaxAttempts Limit
	// MinBackoff is the wait after the first failure, and further waits double
	// up to MaxBackoff. The server's defaults are 1s and 1h.
	MinBackoff time.Duration
	MaxBackoff time.Duration
	// MaxAge limits the time of all attempts and the waits between them, but
	// not time in which the server was down or the queue was paused. Forever
	// means no limit. The server's default is 24h.
	MaxAge Duration
}

// Priority sets which due tasks start first.
type Priority string

// The priorities.
const (
	High   Priority = "high"
	Normal Priority = "normal"
	Low    Priority = "low"
)

// State is the state of a task, and a newer server may have more states.
type State string

// The states.
const (
	StateScheduled State = "scheduled" // it waits for an attempt
	StateHeld      State = "held"      // it is scheduled, and held for the reason in WaitsFor
	StateRunning   State = "running"   // an attempt is under way
	StateDelivered State = "delivered" // a receiver replied 2xx, or a handler returned nil
	StateCancelled State = "cancelled" // it was cancelled
	StateExpired   State = "expired"   // ExpireAfter passed before it started
	StateDead      State = "dead"      // no attempt follows, unless it is retried
)

// Ended reports whether no attempt follows by itself: the task is finished or
// dead.
func (s State) Ended() bool { return s != StateScheduled && s != StateHeld && s != StateRunning }

// Task is a task as the server returns it, with its Spec and its history; it
// marshals to the API's JSON and back. Get, Poll and Wait return the body, and
// so does a Query with Bodies; all other methods return BodySize only.
//
// The server has applied the defaults: ExpireAfter is Forever if the task never
// expires, and OnDead is NoDeadNotice if no URL is notified.
//
// To show when a task is due, use DueAt, and NextAt for its next attempt. At
// and Delay are only the request that created the task.
type Task struct {
	Spec

	ID              string // new for each task that gets the name, and never reused; the webhook-id of every attempt
	State           State
	WaitsFor        WaitsFor  // why it does not start; zero: it is not scheduled, or it is not due and not held
	Reason          string    // why it is dead, expired or cancelled: a stable code
	DueAt           time.Time // the latest requested due time; retries do not move it
	NextAt          time.Time // start of the next attempt; zero: none follows, or one is under way
	Version         uint64    // counts changes by clients, not attempts
	CreatedAt       time.Time
	FinishedAt      time.Time // when it became finished or dead; zero: it is neither
	CancelRequested bool      // cancelled while an attempt was under way: no retry follows
	UnderWay        bool      // in the reply to Cancel, Put or Patch: an attempt is, or may be, under way or about to begin
	Hidden          bool      // the namespace hides the body, the headers and the replies from the token (NamespaceSettings.HidePayloads)
	Already         bool      // in the reply to Cancel: it was cancelled before
	BodySize        int
	Reclaims        int       // attempts that were lost with their process
	AttemptsStarted int       // including one under way
	Schedule        string    // the schedule that created it; empty: none
	Instant         time.Time // the instant of the schedule that it was created for; zero: none
	Attempts        []Attempt // the last 20, oldest first; a finished task keeps only the reply of the last one
	Authors
	Traceparent string // span of the request that created it, as a W3C traceparent
	Durability  string // in the reply to a change: "synced" survives a power loss; "async", "default" and "strict" are levels of a shared store
}

// Authors names the callers that made a task or a schedule, and changed it last. A
// token is "token:" and its id, and after a space its label; the empty string is a
// caller without a token, or the server.
type Authors struct {
	CreatedBy     string
	ChangedAt     time.Time // zero: no client has changed it since it was created
	ChangedBy     string
	ChangedAction string // as in the audit log, or "task.purge"
}

// ETag returns the entity tag for IfMatch.
func (t *Task) ETag() string { return `"` + t.ID + "." + strconv.FormatUint(t.Version, 10) + `"` }

// WaitsFor is the reason that a task does not start.
type WaitsFor struct {
	Reason string    // a stable word, such as "pause", "rate", "breaker" or "runner"; docs/api.md lists them
	Until  time.Time // when the reason ends by itself; another one can follow; zero: never, or unknown
	Detail string    // a sentence for people
}

// Attempt is one request made for a task, or one call of its handler.
type Attempt struct {
	Number    int
	StartedAt time.Time
	Status    int    // HTTP status of the reply; 0: no reply came
	Error     string // why no reply came, or why the reply is a failure
	Reply     string // first 512 bytes of the reply
	Latency   time.Duration
	Late      time.Duration // lateness of the server: from the due time to the start, without Waited
	Waited    time.Duration // how long receivers, limits, pauses and suspensions delayed the start, and the time to connect
}
