package webhook

import (
	"net/http"
	"strconv"
	"time"
)

// The headers of a callback. The first three are signed, or are the signature,
// and have the names of Standard Webhooks.
const (
	HeaderID          = "Webhook-Id"
	HeaderTimestamp   = "Webhook-Timestamp"
	HeaderSignature   = "Webhook-Signature"
	HeaderTask        = "Foliot-Task"
	HeaderQueue       = "Foliot-Queue"
	HeaderDueAt       = "Foliot-Due-At"
	HeaderSchedule    = "Foliot-Schedule"
	HeaderInstant     = "Foliot-Instant"
	HeaderAttempt     = "Foliot-Attempt"
	HeaderMaxAttempts = "Foliot-Max-Attempts"
)

// HeaderNoRetry is a header of the reply to a callback: with the value true and
// a status other than 2xx, the task is dead and is not sent again.
const HeaderNoRetry = "Foliot-No-Retry"

// Event is a callback that was verified.
type Event struct {
	ID        string    // of the task: the same for all its attempts, and never used again
	Timestamp time.Time // of this attempt, in seconds
	Body      []byte    // the bytes of the task, as they arrived

	// The fields below are not signed, so trust them no more than the network
	// that the callback has crossed. A field is zero if its header is missing or
	// malformed.
	Task        string    // its name
	Queue       string    // its queue
	DueAt       time.Time // when it was due: the same for all attempts
	Schedule    string    // the schedule that made the task; "" if none did
	Instant     time.Time // the instant of the schedule; zero if the task was triggered
	Attempt     int       // the number of this attempt, from 1
	MaxAttempts int       // 0: no limit except the task's max_age
}

// describe sets the fields of e that are not signed.
func (e *Event) describe(h http.Header) {
	e.Task, e.Queue, e.Schedule = h.Get(HeaderTask), h.Get(HeaderQueue), h.Get(HeaderSchedule)
	e.DueAt, _ = time.Parse(time.RFC3339, h.Get(HeaderDueAt))
	e.Instant, _ = time.Parse(time.RFC3339, h.Get(HeaderInstant))
	e.Attempt, e.MaxAttempts = number(h.Get(HeaderAttempt)), number(h.Get(HeaderMaxAttempts))
}

// number returns 0 for a text that is no number, or is too large.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}
