package client

import (
	"strconv"
	"time"
)

// Spec is a task as it is asked for. Zero fields have their defaults. It marshals to the API's JSON and back.
type Spec struct {
	// Name is unique in the namespace: letters, digits and . _ : - and at most 256 of them. Default: the task's id, or with CreateOnce a name that derives from the key.
	Name string
	// Queue is the set of tasks it shares limits with. Default: "default".
	Queue string

	// At is when it is due, rounded up to the millisecond; what is past is due now. Zero: Delay counts.
	At time.Time
	// Delay is when it is due, counted from when the server accepts it. Zero, as At: now. Only a task that was made with a delay
	// can be touched. At most 100 years.
	Delay time.Duration

	HTTP HTTP // the request to send

	// Timeout is that of one attempt, 1ms to 1h. Default: the queue's, or 15s.
	Timeout time.Duration
	// ExpireAfter counts from the due time: if no attempt could start by then, none will. Default: the queue's; Forever: it never expires.
	ExpireAfter Duration
	// Priority says which of the due tasks go first. Default: Normal.
	Priority Priority
	// Labels are to find it by.
	Labels map[string]string
	// Retry says when it is tried again.
	Retry Retry
	// OnDead is a URL that is told, by a task of its own, when the task dies. Default: the queue's; NoDeadNotice: none.
	OnDead DeadNotice

	// FirstAttempt is when its first attempt starts, if that is later than At: of a task that comes from elsewhere, where it waited for a retry.
	// ExpireAfter counts from At all the same. Default: At.
	FirstAttempt time.Time
	// Parent is the span that the spans of its attempts are linked to, in W3C's form. Default: that of the request that creates it.
	Parent string
}

// HTTP is the request to send.
type HTTP struct {
	URL string
	// Method is GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS. Default: POST.
	Method string
	// Headers are sent as they are. Those of the connection, Foliot-… and webhook-… are refused.
	Headers map[string]string
	// Body is made by JSON, Text or Bytes. Zero: none.
	Body Body
}

// Retry is when a task is tried again. Zero fields have the queue's defaults.
type Retry struct {
	// MaxAttempts is after how many it gives up; Unlimited: MaxAge decides.
	MaxAttempts Limit
	// MinBackoff is the wait after the first failure, and the shortest; the waits double up to MaxBackoff.
	MinBackoff time.Duration
	MaxBackoff time.Duration
	// MaxAge is how long attempts and the waits between them may last in all. The time in which the
	// server was down or the queue was paused does not count. Forever: no limit.
	MaxAge Duration
}

// Priority says which of the due tasks go first.
type Priority string

// The priorities.
const (
	High   Priority = "high"
	Normal Priority = "normal"
	Low    Priority = "low"
)

// State is where in its life a task is. A newer server may know more of them.
type State string

// The states.
const (
	Scheduled State = "scheduled" // waits for its due time
	Held      State = "held"      // scheduled, and held for the reason in HeldBy
	Running   State = "running"   // an attempt is under way
	Delivered State = "delivered"
	Cancelled State = "cancelled"
	Expired   State = "expired" // by its own ExpireAfter
	Dead      State = "dead"    // gave up; it can be retried
)

// Ended reports whether no attempt follows by itself: the task is finished or dead.
func (s State) Ended() bool { return s != Scheduled && s != Held && s != Running }

// Task is a task as the server shows it: what was asked for, and its life so far. It marshals to the API's JSON and back.
// Bodies are shown by Get, Poll and Wait, and by a Query that includes them; everywhere else BodySize alone tells of them.
type Task struct {
	Spec

	ID              string // new for each incarnation of the name, never given twice; the webhook-id of every attempt
	State           State
	HeldBy          string    // of a held task: "suspended" (its namespace is), "purge" or "pause"
	Reason          string    // why it is dead, expired or cancelled: a stable code
	DueAt           time.Time // the due time that was asked for last; retries do not move it
	NextAt          time.Time // when the next attempt starts; zero: none follows, or one is under way
	Version         uint64    // counts changes by clients; attempts do not change it
	CreatedAt       time.Time
	FinishedAt      time.Time // when it became finished or dead; zero: it is neither
	CancelRequested bool      // cancelled while an attempt was under way: no retry follows
	UnderWay        bool      // in the reply to Cancel, Put or Patch: an attempt is, or may be, under way, or may still begin
	Already         bool      // in the reply to Cancel: it was cancelled before
	BodySize        int
	Reclaims        int       // attempts that were lost with the process that made them
	Schedule        string    // the schedule that made it; empty: none did
	Instant         time.Time // the schedule's instant that it stands for; zero: none
	Attempts        []Attempt // the last 20, oldest first; a finished task keeps the reply of the last one alone
	Traceparent     string    // the span of the request that created it, in W3C's form
	Durability      string    // in the reply to a change: the loss that it survives. "synced": a power loss; "async", "default" and "strict": the level of a shared store that it reached
}

// ETag returns the entity tag that IfMatch takes.
func (t *Task) ETag() string { return `"` + t.ID + "." + strconv.FormatUint(t.Version, 10) + `"` }

// Attempt is one request that was made for a task.
type Attempt struct {
	Number    int
	StartedAt time.Time
	Status    int    // of the reply; 0: none came
	Error     string // why not
	Reply     string // its first 512 bytes
	Latency   time.Duration
	Late      time.Duration // from the due time to the start
}
