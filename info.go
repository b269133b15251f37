package foliot

import (
	"maps"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// State is the state of a task.
type State string

// The states. The middle three are finished, and these and dead have ended.
const (
	StateScheduled State = "scheduled" // the task waits for an attempt
	StateRunning   State = "running"   // its handler runs
	StateDelivered State = "delivered" // its handler returned nil
	StateCancelled State = "cancelled" // it was cancelled
	StateExpired   State = "expired"   // ExpireAfter passed before it started
	StateDead      State = "dead"      // no attempt follows, unless it is retried
)

// Info is a copy of a task in the store.
type Info struct {
	// Namespace is the namespace of the task. Options.OnDead and Options.OnHang
	// receive tasks of all namespaces, but the methods of a Node reach only those
	// of Options.Namespace. Package foliot/remote leaves the field empty, because
	// its client has the namespace.
	Namespace string
	ID        string // of all attempts of the task; no other task ever has it
	Name      string
	Kind      string // "": the task sends a request
	Queue     string
	Labels    map[string]string
	State     State
	Schedule  string    // the schedule that created the task; "": none
	Instant   time.Time // the instant of the schedule; zero: none, or an operator triggered it
	// Due is the requested due time. Next is the due time of the next attempt, which
	// is later than Due after a failure, and zero if no attempt follows.
	Due, Next time.Time
	// Attempts is the number of attempts that have started, and LastError is the
	// error of the last one that has ended.
	Attempts  int
	LastError string
	WaitsFor  WaitsFor
	// Reason is a stable word that gives the cause if the task is dead,
	// cancelled or expired; docs/api.md lists them.
	Reason string
	// Durability is the loss that a change survives, in the result of the change; Get
	// leaves it empty, and so does a change in a transaction, for which the COMMIT
	// decides. "synced" survives a power loss. On a Redis or PostgreSQL the levels are
	// "async", "default" and "strict"; a Redis without replicas reaches "async" at the
	// level "default". "memory" survives nothing.
	Durability string
}

// WaitsFor is the reason why a task does not start. It is zero unless the task
// is scheduled, and is due or held.
type WaitsFor struct {
	Reason string    // a stable word, such as "pause", "rate", "breaker" or "runner"; docs/api.md lists them
	Until  time.Time // when the reason ends by itself, after which another one can follow; zero: never, or unknown
	Detail string    // a sentence for people
}

// infoOf returns t with the reason why it does not start.
func (n *Node) infoOf(t *task.Task) Info {
	i := infoOf(t)
	if w := n.core.WaitsFor(t); w != nil {
		until, _ := time.Parse(time.RFC3339, w.Until) // an empty Until is the zero time
		i.WaitsFor = WaitsFor{w.Reason, until, w.Detail}
	}
	return i
}

func infoOf(t *task.Task) Info {
	schedule, instant := occurrenceOf(t)
	i := Info{
		Schedule: schedule, Instant: instant, ID: t.ID, Namespace: t.Namespace, Name: t.Name, Kind: t.Request.Kind, Queue: t.Queue, Labels: maps.Clone(t.Labels), State: State(t.State.String()),
		Due: t.OriginalDue.Time(), Attempts: t.Attempts, Reason: t.EndReason(),
	}
	if next := t.NextAttempt(); next != 0 {
		i.Next = next.Time()
	}
	if n := len(t.History); n > 0 {
		i.LastError = t.History[n-1].Error
	}
	return i
}
