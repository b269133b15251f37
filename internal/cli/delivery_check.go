package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
)

const (
	// lookEvery is how often listen --try and bench look at tasks that are due.
	lookEvery = 200 * time.Millisecond
	// lookAfter is how late a callback is before they look at its task.
	lookAfter = 300 * time.Millisecond
	// unstartedFor is how long a task that is due may wait for its first attempt
	// before that needs an explanation.
	unstartedFor = time.Second
)

// obstacle is why the callback of a task that is due has not arrived.
type obstacle struct {
	why    string // "": nothing is known
	failed bool   // an attempt failed, or the task ended
	ended  bool   // no attempt follows
}

// look asks the server why the callback of a task, which was due at due by this
// machine's clock, has not arrived.
func look(ctx context.Context, api *client.Client, name string, due time.Time) obstacle {
	t, err := api.Tasks.Get(ctx, name)
	switch {
	case errors.Is(err, client.ErrNotFound):
		return ended("the server does not have the task any more")
	case err != nil:
		return waits("%s", oneLine(renamed(err, "look at "+name), nil))
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

// obstacleOf returns the obstacle that the task itself names.
func obstacleOf(t *client.Task) obstacle {
	switch {
	case t.State == client.Delivered:
		return ended("another receiver answered at %s, as the server sees it", t.HTTP.URL)
	case t.State.Ended():
		return ended("it is %s%s%s", t.State, lastFailure(t), denialAdvice(t))
	case len(t.Attempts) > 0:
		return obstacle{why: "an attempt failed" + lastFailure(t) + "; the server calls " + t.HTTP.URL + " from its own machine", failed: true}
	case t.HeldBy == "pause":
		return waits("the queue %s is paused: foliot queue resume %s", t.Queue, t.Queue)
	case t.HeldBy == "suspended":
		return waits("the namespace is suspended: an operator resumes it with foliot namespace set NAME --no-suspended")
	case t.HeldBy != "":
		return waits("the queue %s is held by a %s", t.Queue, t.HeldBy)
	}
	return obstacle{}
}

// lastFailure returns the result of t's last attempt, behind a colon; "" if t has none.
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

// denialAdvice returns the flag that opens a loopback receiver to the tasks of a server with tokens.
func denialAdvice(t *client.Task) string {
	if t.Reason != "egress_denied" {
		return ""
	}
	return fmt.Sprintf("; tasks may call loopback only if the server has no tokens, or --egress-allow 127.0.0.1/32: foliot doctor egress %s", t.HTTP.URL)
}

// unstarted returns why t, which is due, has had no attempt, as far as the server says.
func unstarted(ctx context.Context, api *client.Client, t *client.Task) string {
	if t.State == client.Running {
		return "an attempt is under way, and its request has not arrived: the server calls " + t.HTTP.URL + " from its own machine"
	}
	live, err := api.Admin.Live(ctx)
	if err != nil {
		return oneLine(renamed(err, "read the server's live data"), nil)
	}
	for _, q := range live.Queues {
		if q.Queue == t.Queue && q.LimitedBy != "" {
			return fmt.Sprintf("it waits: the queue %s is limited by %s; foliot top shows more", wording.Qualified(q.Namespace, q.Queue), q.LimitedBy)
		}
	}
	if live.Slots > 0 && live.Running >= live.Slots {
		return fmt.Sprintf("it waits: all %d slots of the server are in use", live.Slots)
	}
	return "it is due, and the server has not started an attempt: foliot doctor lists the server's problems"
}

// notDelivered is the error of a command if its task was not delivered.
func notDelivered(name string, o obstacle) error {
	return &fault{exitUndelivered, errors.New(o.about(name))}
}

// about returns o as a sentence about the task of that name.
func (o obstacle) about(name string) string {
	if o.ended {
		return name + " was not delivered: " + o.why
	}
	return name + " has not been delivered yet: " + o.why
}
