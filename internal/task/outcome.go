package task

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Verdict is the effect of an attempt's end on its task.
type Verdict uint8

// The verdicts.
const (
	// Success means that the reply was a 2xx, so the task is delivered.
	Success Verdict = 1 + iota
	// Failure means that the task is retried after a backoff, unless its attempts
	// or its age are exhausted.
	Failure
	// Snooze means that the receiver set the time of the next attempt (429 or
	// 503 with Retry-After). The task waits as requested, at least MinBackoff and
	// at most MaxBackoff, and the attempt does not count against MaxAttempts. If
	// the outcome is Exact, the handler has moved its task.
	Snooze
	// Refusal means that the task dies, because it must not be retried (410,
	// Foliot-No-Retry, egress denied).
	Refusal
	// Interrupted means that this server stopped the attempt while it was under
	// way, so the task is due again at once, and the attempt does not count.
	Interrupted
	// Unsent means that the attempt wrote nothing to the network, so the task is
	// due again at once, as if it had never been claimed.
	Unsent
)

var verdictNames = [...]string{
	Success: "delivered", Failure: "failed", Snooze: "snoozed", Refusal: "refused", Interrupted: "interrupted", Unsent: "unsent",
}

// String returns the word for the verdict in metrics, traces and the API.
func (v Verdict) String() string { return verdictNames[min(int(v), len(verdictNames)-1)] }

// Outcome is the end of one attempt.
type Outcome struct {
	Verdict       Verdict
	Reason        string        // of a Refusal: a stable code, "gone", "no_retry", "egress_denied"
	Status        int           // zero means that no reply came
	Error         string        // a sentence for people; "" for a Success
	Detail        string        // for operators only, because it can have addresses of the internal network
	StartedAt     Millis        // when the request began to be written
	Latency       time.Duration // from StartedAt to the reply's end, or to the error
	Late          time.Duration // the lateness of the node: see Delivery.Late
	Waited        time.Duration // how long obstacles delayed it, which includes the time to connect
	ReceiverDelay time.Duration // the time before the claim for which only the receiver delayed the task, by its breaker or its Retry-After
	RetryAfter    time.Duration // of a Snooze, or of a Failure that is Exact
	Exact         bool          // set if a handler decided on RetryAfter, so the task waits exactly that long
	Reply         string        // the reply's first bytes, at most MaxReplyKept, valid UTF-8
	GaveWay       bool          // set if an attempt was Interrupted for other tasks in quarantine, so it says nothing about its task
}

// Delivery is an attempt that dispatch hands to the sender.
type Delivery struct {
	Task   *Task // as claimed, with its body
	Number int   // of the attempt, from 1

	// Waited is the time between Task.LateFrom and the claim for which obstacles
	// delayed the task: receivers, limits, pauses and suspensions.
	Waited time.Duration

	// Live is called right before the request is written, on any goroutine. If it
	// returns an error, the lease is lost or the task is held, and the request
	// must not be sent.
	Live func() error

	// Completed is called with the new record when a transaction of the handler has
	// settled the attempt with success. The transaction may still be rolled back.
	Completed func(*Task)
}

// Late returns the lateness of an attempt that starts at start: the time since
// Task.LateFrom, without the time in which obstacles delayed the task.
func (d *Delivery) Late(start time.Time) time.Duration {
	return start.Sub(d.Task.LateFrom().Time()) - d.Waited
}

// LateFrom returns the time from which the lateness of t's next attempt counts.
// It is the due time, but not before the task was accepted or last changed by a
// client, because otherwise a client could set a time in the past, and the node
// would seem late. The task of a schedule's instant counts from its due time,
// because the node itself creates it, and can be late in doing so.
func (t *Task) LateFrom() Millis {
	if _, _, ok := OccurrenceOf(t.Name); ok {
		return t.Due
	}
	return max(t.Due, t.CreatedAt, t.ChangedAt)
}

// The reasons of dead tasks, in addition to those of a Refusal.
const (
	ReasonAttempts  = "attempts_exhausted"
	ReasonAge       = "max_age_exceeded"
	ReasonReclaims  = "reclaims_exhausted"
	ReasonExpired   = "expired"
	ReasonCancelled = "cancelled"
	ReasonPurged    = "purged"
)

// ReasonRefused is the reason of a task that a transaction of the user's database has
// created, and that the rules of the store refuse later: see Task.Refuse.
const ReasonRefused = "refused"

// The reasons of a Refusal by a receiver with a 410, and by one that wants no retry,
// or a handler.
const (
	ReasonGone    = "gone"
	ReasonNoRetry = "no_retry"
)

// ReasonEgressDenied is the reason of a Refusal by the egress guard, and
// EgressRefused its error. The error names no address, because the namespace's
// own tokens can read it. With addresses in it, a client could resolve internal
// names one after another.
const (
	ReasonEgressDenied = "egress_denied"
	EgressRefused      = "refused by the egress policy: tasks may not call the receiver's address. An operator can open addresses with --egress-allow (in a Go program, foliot.URLs), except those that are always closed"
)

// UnreadableReply begins the error of an attempt with a reply that was no valid
// HTTP; the rest can quote the reply.
const UnreadableReply = "no readable reply"

// attempt returns o as an entry of the task's history.
func (o Outcome) attempt(number int) Attempt {
	return Attempt{
		Number:    number,
		StartedAt: o.StartedAt,
		Status:    o.Status,
		Error:     o.Error,
		Detail:    o.Detail,
		Latency:   o.Latency,
		Late:      o.Late,
		Waited:    o.Waited,
		Reply:     o.Reply,
	}
}

// MaxErrorKept is the maximum number of bytes of an error that a record keeps,
// because parts of it can come from a receiver or a handler.
const MaxErrorKept = 512

// Clip returns at most limit bytes of s, as valid UTF-8, without a partial
// rune at the end.
func Clip(s string, limit int) string {
	if s = strings.ToValidUTF8(s, "\uFFFD"); len(s) <= limit {
		return s
	}
	for !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
