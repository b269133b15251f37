package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
)

const (
	// maxWait is how long one request asks the server to wait for a task's end.
	maxWait = 30 * time.Second
	// patience is how long a wait goes on while the server does not answer: a
	// restart ends well within it.
	patience = 60 * time.Second
	// askAgain is the least time between two tries.
	askAgain = 250 * time.Millisecond
)

// wait returns when t is finished or dead, and prints how it ended. It
// outlives a restart of the server: the task does too.
func wait(ctx context.Context, con *console, api *client.Client, t *client.Task) error {
	id := t.ID
	var silent time.Time // since when the server has not answered; zero: it does
	for !t.State.Ended() {
		asked := time.Now()
		next, err := poll(ctx, api, t.Name)
		switch {
		case err == nil && next.ID != id:
			return &fault{exitUndelivered, fmt.Errorf("wait for %s: another task was put in its place", t.Name)}
		case err == nil:
			t, silent = next, time.Time{}
		case exitCode(err) != exitUnreachable:
			return err
		case silent.IsZero():
			silent = time.Now()
			con.notef("the server does not answer; still waiting for %s", wording.Printable(t.Name))
		case time.Since(silent) > patience:
			return err
		}
		// A server that is stopping answers at once, with what it knows.
		if !t.State.Ended() && time.Since(asked) < askAgain && !pause(ctx, askAgain) {
			return context.Canceled
		}
	}
	return sayEnd(con, t)
}

// poll is one look: a server that takes the request and says nothing does not
// use up more than its patience.
func poll(ctx context.Context, api *client.Client, name string) (*client.Task, error) {
	ctx, cancel := context.WithTimeout(ctx, maxWait+patience)
	defer cancel()
	return api.Tasks.Poll(ctx, name, maxWait)
}

// pause returns after d, or with false as soon as ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// sayEnd prints how t ended, and returns a fault when it was not delivered.
func sayEnd(con *console, t *client.Task) error {
	if con.json {
		if err := con.object(t); err != nil {
			return err
		}
	} else {
		con.sayf("%s", wording.Printable(ending(t)))
	}
	if t.State == client.Delivered {
		return nil
	}
	return &fault{exitUndelivered, errSaid}
}

// ending is one sentence about how t ended.
func ending(t *client.Task) string {
	s := string(t.State)
	if t.Reason != "" && t.Reason != s {
		s += " (" + t.Reason + ")"
	}
	if n := len(t.Attempts); n > 0 {
		s += ": " + attemptLine(t.Attempts[n-1])
	}
	return s
}

// attemptLine is one sentence about an attempt.
func attemptLine(a client.Attempt) string {
	result := a.Error
	if a.Status != 0 {
		result = fmt.Sprintf("status %d", a.Status)
	}
	return fmt.Sprintf("attempt %d, %s, %d ms late, took %.1f ms", a.Number, result, a.Late.Milliseconds(), float64(a.Latency.Microseconds())/1000)
}
