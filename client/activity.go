package client

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// History has the figures of one server for each step of the last hour, in
// which a namespace's own token sees its own attempts.
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
	values := params{}
	values.add("for", span)
	return get[History](ctx, a.conn, "get the history", "/history", values)
}

// AttemptQuery selects recent attempts, which must match all fields that are
// set.
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

// Attempts returns recent attempts of the server that replies, which keeps 1000
// that delivered a task, and 1000 others.
func (a Admin) Attempts(ctx context.Context, q AttemptQuery) (*AttemptList, error) {
	values := params{}
	values.add("queue", q.Queue)
	for _, outcome := range q.Outcomes {
		values.add("outcome", outcome)
	}
	values.add("limit", q.Limit)
	return get[AttemptList](ctx, a.conn, "list attempts", "/attempts", values)
}

func (h History) MarshalJSON() ([]byte, error) { return encode[wire.History](h) }

func (h *History) UnmarshalJSON(data []byte) error { return decode[wire.History](data, h) }

func (a EndedAttempt) MarshalJSON() ([]byte, error) { return encode[wire.EndedAttempt](a) }

func (a *EndedAttempt) UnmarshalJSON(data []byte) error { return decode[wire.EndedAttempt](data, a) }

func (l AttemptList) MarshalJSON() ([]byte, error) { return encode[wire.AttemptList](l) }

func (l *AttemptList) UnmarshalJSON(data []byte) error { return decode[wire.AttemptList](data, l) }
