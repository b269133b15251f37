package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// History has the figures of one server for each step of the last hour. A
// namespace's own token sees its own attempts.
type History struct {
	Node       string          // the server that replied, in a shared store
	Step       time.Duration   // length of a step
	Since      time.Time       // the figures are complete from this time on
	LateBounds []time.Duration // upper bounds of the buckets of HistoryStep.Late and Waited; the last bucket has none
	Steps      []HistoryStep   // earliest first; a step without attempts and overdue tasks is missing
}

// HistoryStep has the figures of one step.
type HistoryStep struct {
	At                                   time.Time // beginning of the step
	Late, Waited                         []uint32  // number of attempts by both delays: see Live
	Delivered, Failed, Deferred, Refused uint32
	Interrupted                          uint32 // stopped with the server
	LostLeases                           uint32 // the server lost the task during the attempt, so it is sent again
	Dead                                 uint32 // tasks that died
	Overdue                              uint32 // largest number of due tasks that waited
}

// History returns the figures of the server that replies, from span ago until
// now. span is at most an hour; zero means an hour.
func (a Admin) History(ctx context.Context, span time.Duration) (*History, error) {
	values := url.Values{}
	if span != 0 {
		values.Set("for", span.String())
	}
	v := new(History)
	_, err := a.conn.do(ctx, &call{op: "get the history", method: http.MethodGet, path: "/history", query: values, repeatable: true, into: v})
	return orNil(v, err)
}

// AttemptQuery selects recent attempts. All fields that are set must match.
type AttemptQuery struct {
	Queue    string
	Outcomes []string // any of them: see EndedAttempt.Outcome
	Limit    int      // at most 1000. Default: 100
}

// AttemptList has recent attempts of one server, the latest first.
type AttemptList struct {
	Node     string // the server that replied, in a shared store
	Attempts []EndedAttempt
	Since    time.Time // the server has all attempts that ended after this time
}

// EndedAttempt is an attempt that has ended.
type EndedAttempt struct {
	At                     time.Time // the end
	Namespace, Queue, Task string
	Number                 int
	Destination            string // host:port, or kind/ and the name of a kind
	Outcome                string // "delivered", "failed", "deferred", "refused", "interrupted" or "lost_lease"
	Status                 int    // zero: no reply came
	Error                  string
	Late, Waited, Latency  time.Duration // see Attempt
	Dead                   bool          // the task died
	Reason                 string        // of its death
}

// Attempts returns recent attempts of the server that replies. The server keeps
// 1000 that delivered a task, and 1000 others.
func (a Admin) Attempts(ctx context.Context, q AttemptQuery) (*AttemptList, error) {
	values := url.Values{}
	if q.Queue != "" {
		values.Set("queue", q.Queue)
	}
	for _, outcome := range q.Outcomes {
		values.Add("outcome", outcome)
	}
	if q.Limit != 0 {
		values.Set("limit", strconv.Itoa(q.Limit))
	}
	v := new(AttemptList)
	_, err := a.conn.do(ctx, &call{op: "list attempts", method: http.MethodGet, path: "/attempts", query: values, repeatable: true, into: v})
	return orNil(v, err)
}

// MarshalJSON returns the history as the API writes it.
func (h History) MarshalJSON() ([]byte, error) {
	w := wire.History{Node: h.Node, Step: h.Step.String(), Since: instant(h.Since), LateBoundsMS: []int64{}, Steps: []wire.HistoryStep{}}
	for _, bound := range h.LateBounds {
		w.LateBoundsMS = append(w.LateBoundsMS, bound.Milliseconds())
	}
	for _, s := range h.Steps {
		w.Steps = append(w.Steps, wire.HistoryStep{
			At: instant(s.At), Late: s.Late, Waited: s.Waited, Delivered: s.Delivered, Failed: s.Failed, Deferred: s.Deferred, Refused: s.Refused,
			Interrupted: s.Interrupted, LostLeases: s.LostLeases, Dead: s.Dead, Overdue: s.Overdue,
		})
	}
	return marshal(w)
}

// UnmarshalJSON reads a history as the API writes it.
func (h *History) UnmarshalJSON(data []byte) error {
	return read(data, h, func(d *decoder, w wire.History) History {
		v := History{Node: w.Node, Step: d.duration(w.Step), Since: d.instant(w.Since)}
		for _, bound := range w.LateBoundsMS {
			v.LateBounds = append(v.LateBounds, time.Duration(bound)*time.Millisecond)
		}
		for _, s := range w.Steps {
			v.Steps = append(v.Steps, HistoryStep{
				At: d.instant(s.At), Late: s.Late, Waited: s.Waited, Delivered: s.Delivered, Failed: s.Failed, Deferred: s.Deferred, Refused: s.Refused,
				Interrupted: s.Interrupted, LostLeases: s.LostLeases, Dead: s.Dead, Overdue: s.Overdue,
			})
		}
		return v
	})
}

// MarshalJSON returns the attempt as the API writes it.
func (a EndedAttempt) MarshalJSON() ([]byte, error) {
	return marshal(wire.EndedAttempt{
		At: instant(a.At), Namespace: a.Namespace, Queue: a.Queue, Task: a.Task, Number: a.Number, Destination: a.Destination, Outcome: a.Outcome,
		Status: a.Status, Error: a.Error, LateMS: inMS(a.Late), WaitedMS: inMS(a.Waited), LatencyMS: inMS(a.Latency), Dead: a.Dead, Reason: a.Reason,
	})
}

// UnmarshalJSON reads an attempt as the API writes it.
func (a *EndedAttempt) UnmarshalJSON(data []byte) error {
	return read(data, a, func(d *decoder, w wire.EndedAttempt) EndedAttempt {
		return EndedAttempt{
			At: d.instant(w.At), Namespace: w.Namespace, Queue: w.Queue, Task: w.Task, Number: w.Number, Destination: w.Destination, Outcome: w.Outcome,
			Status: w.Status, Error: w.Error, Late: milliseconds(w.LateMS), Waited: milliseconds(w.WaitedMS), Latency: milliseconds(w.LatencyMS), Dead: w.Dead, Reason: w.Reason,
		}
	})
}

// MarshalJSON returns the list as the API writes it.
func (l AttemptList) MarshalJSON() ([]byte, error) {
	attempts := l.Attempts
	if attempts == nil {
		attempts = []EndedAttempt{}
	}
	return marshal(attemptList{l.Node, attempts, instant(l.Since)})
}

// UnmarshalJSON reads a list as the API writes it.
func (l *AttemptList) UnmarshalJSON(data []byte) error {
	return read(data, l, func(d *decoder, w attemptList) AttemptList {
		return AttemptList{w.Node, w.Attempts, d.instant(w.Since)}
	})
}

// attemptList is wire.AttemptList with the attempts of this package.
type attemptList struct {
	Node     string         `json:"node,omitempty"`
	Attempts []EndedAttempt `json:"attempts"`
	Since    string         `json:"since,omitempty"`
}
