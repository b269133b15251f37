package foliot

import (
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/task"
)

// State is the state of a task.
type State = client.State

// The states.
const (
	StateScheduled State = client.Scheduled // waits for its due time
	StateRunning   State = client.Running   // its handler runs
	StateDelivered State = client.Delivered // its handler returned nil
	StateCancelled State = client.Cancelled
	StateExpired   State = client.Expired // by ExpireAfter
	StateDead      State = client.Dead    // no attempt follows, until someone retries it
)

// Info is a task as the store has it.
type Info struct {
	Name  string
	Kind  string // "": the task sends a request
	Queue string
	State State
	// Due is the requested due time. Next is the start of the next attempt,
	// which is later after a failure. It is zero if no attempt follows.
	Due, Next time.Time
	// Attempts is the number of attempts that have begun. LastError is the
	// error of the last one that has ended.
	Attempts  int
	LastError string
	// Reason is why a task is dead, cancelled or expired: a stable word.
	Reason string
}

func infoOf(t *task.Task) Info {
	i := Info{
		Name: t.Name, Kind: t.Request.Kind, Queue: t.Queue, State: State(t.State.String()), Due: t.OriginalDue.Time(),
		Attempts: t.Attempts, Reason: t.EndReason(),
	}
	if next := t.NextAttempt(); next != 0 {
		i.Next = next.Time()
	}
	if n := len(t.History); n > 0 {
		i.LastError = t.History[n-1].Error
	}
	return i
}
