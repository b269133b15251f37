package admin

import (
	"context"
	"time"

	"github.com/foliot/foliot/client/internal/conn"
	"github.com/foliot/foliot/internal/wire"
)

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
	Outcome                string // "delivered", "failed", "snoozed", "refused", "interrupted" or "lost_lease"
	Status                 int    // zero: no reply came
	Error                  string
	Late, Waited, Latency  time.Duration // see client.Attempt
	Dead                   bool          // the task died
	Reason                 string        // of its death
}

// Attempts returns recent attempts of the server that replies, which keeps 1000
// that delivered a task, and 1000 others.
func (a *Client) Attempts(ctx context.Context, q AttemptQuery) (*AttemptList, error) {
	values := conn.Params{}
	values.Add("queue", q.Queue)
	for _, outcome := range q.Outcomes {
		values.Add("outcome", outcome)
	}
	values.Add("limit", q.Limit)
	return conn.Get[AttemptList](ctx, a.conn, "list attempts", "/attempts", values)
}

func (a EndedAttempt) MarshalJSON() ([]byte, error) { return encode[wire.EndedAttempt](a) }

func (a *EndedAttempt) UnmarshalJSON(data []byte) error { return decode[wire.EndedAttempt](data, a) }

func (l AttemptList) MarshalJSON() ([]byte, error) { return encode[wire.AttemptList](l) }

func (l *AttemptList) UnmarshalJSON(data []byte) error { return decode[wire.AttemptList](data, l) }
