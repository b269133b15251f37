package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

const (
	// CheckEvery is the interval at which listen --try checks its due task.
	CheckEvery = 200 * time.Millisecond
	// CheckAfter is how late a callback must be before it checks the task.
	CheckAfter = 300 * time.Millisecond
	// unstartedFor is how long a due task may wait for its first attempt before
	// it asks the server for the reason.
	unstartedFor = time.Second
)

// Obstacle is the reason why the callback of a due task has not arrived.
type Obstacle struct {
	Why    string // "" if unknown
	Failed bool   // an attempt failed, or the task ended
	Ended  bool   // no attempt follows
}

// FindObstacle asks the server why the callback of a task has not arrived. The
// task was due at due by the clock of this machine.
func FindObstacle(ctx context.Context, api *client.Client, name string, due time.Time) Obstacle {
	t, err := api.Tasks.Get(ctx, name)
	switch {
	case errors.Is(err, client.ErrNotFound):
		return ended("the task does not exist on the server any more")
	case err != nil:
		return Obstacle{Why: exit.Words{}.OneLine(exit.WithOp(err, "read "+name))}
	}
	o := obstacleOf(t)
	if o.Why == "" && time.Since(due) >= unstartedFor {
		o.Why = unstarted(t)
	}
	return o
}

func ended(format string, args ...any) Obstacle {
	return Obstacle{Why: fmt.Sprintf(format, args...), Failed: true, Ended: true}
}

// obstacleOf returns the obstacle that the record of the task shows.
func obstacleOf(t *client.Task) Obstacle {
	switch {
	case t.State == client.StateDelivered:
		return ended("another receiver answered at %s, as seen from the server", t.HTTP.URL)
	case t.State.Ended():
		return ended("it is %s%s%s", t.State, lastFailure(t), denialAdvice(t))
	case len(t.Attempts) > 0:
		return Obstacle{Why: "an attempt failed" + lastFailure(t) + "; note that the server calls " + t.HTTP.URL + " from its own machine", Failed: true}
	case t.WaitsFor.Reason == turn:
		return Obstacle{}
	}
	return Obstacle{Why: t.WaitsFor.Detail}
}

// lastFailure returns a colon and the result of t's last attempt, or "" if t
// has no attempt.
func lastFailure(t *client.Task) string {
	if len(t.Attempts) == 0 {
		return ""
	}
	a := t.Attempts[len(t.Attempts)-1]
	if a.Status != 0 {
		return fmt.Sprintf(": status %d", a.Status)
	}
	return ": " + a.Error
}

// denialAdvice returns the remedy if the egress policy denied the attempt.
func denialAdvice(t *client.Task) string {
	if t.Reason != "egress_denied" {
		return ""
	}
	return fmt.Sprintf("; tasks may call loopback only if the server has no tokens, or runs with --egress-allow 127.0.0.1/32: foliot doctor egress %s shows more", usage.ShellWord(t.HTTP.URL))
}

// unstarted returns why t, which is due, has had no attempt yet.
func unstarted(t *client.Task) string {
	if t.State == client.StateRunning {
		return "an attempt is running, and its request has not arrived: note that the server calls " + t.HTTP.URL + " from its own machine"
	}
	return "the task is due, and the server has not started an attempt: foliot doctor lists the problems of the server"
}

// turn is the reason of a task that nothing holds back.
const turn = "turn"

// StateOf returns the state of t, with the reason if anything holds it back.
func StateOf(t *client.Task) string {
	if by := t.WaitsFor.Reason; by != "" && by != turn {
		return string(t.State) + " (" + by + ")"
	}
	return string(t.State)
}

// Waits returns why t does not start, or "" if it need not start yet.
func Waits(t *client.Task) string {
	w := t.WaitsFor
	if w.Reason == "" {
		return ""
	}
	if !w.Until.IsZero() {
		w.Reason += " until " + wording.Instant(w.Until)
	}
	return w.Reason + ": " + w.Detail
}

// About returns o as a sentence about the task of that name.
func (o Obstacle) About(name string) string {
	if o.Ended {
		return name + " was not delivered: " + o.Why
	}
	return name + " has not been delivered yet: " + o.Why
}
