package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/wording"
)

const (
	// lookEvery is how often listen --try and bench check tasks that are due.
	lookEvery = 200 * time.Millisecond
	// lookAfter is how late a callback must be before they check its task.
	lookAfter = 300 * time.Millisecond
	// unstartedFor is how long a due task may wait for its first attempt before
	// they ask the server for the reason.
	unstartedFor = time.Second
)

// obstacle is the reason why the callback of a due task has not arrived.
type obstacle struct {
	why    string // "" if unknown
	failed bool   // an attempt failed, or the task ended
	ended  bool   // no attempt follows
}

// look asks the server why the callback of a task has not arrived. The task was
// due at due by the clock of this machine.
func look(ctx context.Context, api *client.Client, name string, due time.Time) obstacle {
	t, err := api.Tasks.Get(ctx, name)
	switch {
	case errors.Is(err, client.ErrNotFound):
		return ended("the task does not exist on the server any more")
	case err != nil:
		return waits("%s", exit.OneLine(exit.WithOp(err, "read "+name), nil))
	}
	o := obstacleOf(t)
	if o.why == "" && time.Since(due) >= unstartedFor {
		o.why = unstarted(ctx, api, t)
	}
	return o
}

func ended(format string, args ...any) obstacle {
	return obstacle{why: fmt.Sprintf(format, args...), failed: true, ended: true}
}

func waits(format string, args ...any) obstacle { return obstacle{why: fmt.Sprintf(format, args...)} }

// obstacleOf returns the obstacle that the record of the task shows.
func obstacleOf(t *client.Task) obstacle {
	switch {
	case t.State == client.Delivered:
		return ended("another receiver answered at %s, as seen from the server", t.HTTP.URL)
	case t.State.Ended():
		return ended("it is %s%s%s", t.State, lastFailure(t), denialAdvice(t))
	case len(t.Attempts) > 0:
		return obstacle{why: "an attempt failed" + lastFailure(t) + "; note that the server calls " + t.HTTP.URL + " from its own machine", failed: true}
	case t.HeldBy == "pause":
		return waits("the queue %s is paused: resume it with foliot queue resume %s", t.Queue, t.Queue)
	case t.HeldBy == "suspended":
		return waits("the namespace is suspended: an operator can resume it with foliot namespace set NAME --no-suspended")
	case t.HeldBy != "":
		return waits("the queue %s is on hold because of a %s", t.Queue, t.HeldBy)
	}
	return obstacle{}
}

// lastFailure returns a colon and the result of t's last attempt, or "" if t has
// no attempt.
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
	return fmt.Sprintf("; tasks may call loopback only if the server has no tokens, or runs with --egress-allow 127.0.0.1/32: foliot doctor egress %s shows more", t.HTTP.URL)
}

// unstarted returns why t, which is due, has had no attempt yet.
func unstarted(ctx context.Context, api *client.Client, t *client.Task) string {
	if t.State == client.Running {
		return "an attempt is running, and its request has not arrived: note that the server calls " + t.HTTP.URL + " from its own machine"
	}
	live, err := api.Admin.Live(ctx)
	if err != nil {
		return exit.OneLine(exit.WithOp(err, "read the server's live data"), nil)
	}
	for _, q := range live.Queues {
		if q.Queue == t.Queue && q.LimitedBy != "" {
			return fmt.Sprintf("the queue %s is limited by %s; foliot top shows more", wording.Qualified(q.Namespace, q.Queue), q.LimitedBy)
		}
	}
	if live.Slots > 0 && live.Running >= live.Slots {
		return fmt.Sprintf("all %d slots of the server are in use; foliot serve --concurrency sets their number", live.Slots)
	}
	return "the task is due, and the server has not started an attempt: foliot doctor lists the problems of the server"
}

// notDelivered returns the error of a command whose task was not delivered.
func notDelivered(name string, o obstacle) error {
	return exit.With(exit.Undelivered, errors.New(o.about(name)))
}

// about returns o as a sentence about the task of that name.
func (o obstacle) about(name string) string {
	if o.ended {
		return name + " was not delivered: " + o.why
	}
	return name + " has not been delivered yet: " + o.why
}
