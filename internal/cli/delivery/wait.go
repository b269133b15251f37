package delivery

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/wording"
)

const (
	// maxWait is the longest time that one request waits at the server for the
	// end of a task.
	maxWait = 30 * time.Second
	// maxSilence is the time for which a wait continues without a reply. A
	// restart takes much less.
	maxSilence = 60 * time.Second
	// minPollInterval is the shortest time between two requests.
	minPollInterval = 250 * time.Millisecond
)

// Wait waits until t is finished or dead, and prints how it ended. It continues
// during a restart of the server, which the task survives.
func Wait(ctx context.Context, con *console.Console, api *client.Client, t *client.Task) error {
	id := t.ID
	var silentSince time.Time // first request without an answer; zero if the server answers
	waits := ""
	for !t.State.Ended() {
		if now := t.WaitsFor.Reason; now != waits && now != turn {
			if waits = now; now != "" {
				con.Notef("%s waits for %s", wording.Printable(t.Name), wording.Printable(Waits(t)))
			}
		}
		asked := time.Now()
		next, err := poll(ctx, api, t.Name)
		switch {
		case err == nil && next.ID != id:
			return exit.With(exit.Undelivered, fmt.Errorf("wait for %s: another task replaced it", t.Name))
		case err == nil:
			t, silentSince = next, time.Time{}
		case exit.CodeOf(err) != exit.Unreachable:
			return err
		case silentSince.IsZero():
			silentSince = time.Now()
			con.Notef("the server does not answer; still waiting for %s", wording.Printable(t.Name))
		case time.Since(silentSince) > maxSilence:
			return err
		}
		// A server that is shutting down answers at once, with the current state.
		if !t.State.Ended() && time.Since(asked) < minPollInterval && !console.Pause(ctx, minPollInterval) {
			return context.Canceled
		}
	}
	return printEnd(con, t)
}

// poll sends one request. It returns an error if the server accepts the request
// and never answers.
func poll(ctx context.Context, api *client.Client, name string) (*client.Task, error) {
	ctx, cancel := context.WithTimeout(ctx, maxWait+maxSilence)
	defer cancel()
	return api.Tasks.Poll(ctx, name, maxWait)
}

// printEnd prints how t ended. It returns an error if t was not delivered.
func printEnd(con *console.Console, t *client.Task) error {
	if err := con.Resultf(t, "%s", Ending(t)); err != nil {
		return err
	}
	if t.State == client.StateDelivered {
		return nil
	}
	return exit.With(exit.Undelivered, exit.ErrReported)
}

// Ending returns a sentence about how t ended.
func Ending(t *client.Task) string {
	s := string(t.State)
	if t.Reason != "" && t.Reason != s {
		s += " (" + t.Reason + ")"
	}
	if n := len(t.Attempts); n > 0 {
		s += ": " + AttemptLine(t.Attempts[n-1])
	}
	return s
}

// AttemptLine returns a sentence about an attempt.
func AttemptLine(a client.Attempt) string {
	result := cmp.Or(a.Error, "succeeded")
	if a.Status != 0 {
		result = fmt.Sprintf("status %d", a.Status)
	}
	waited := ""
	if a.Waited >= time.Millisecond {
		waited = ", waited " + wording.Millis(a.Waited)
	}
	return fmt.Sprintf("attempt %d, %s, %s late%s, took %s", a.Number, result, wording.Millis(a.Late), waited, wording.Millis(a.Latency))
}
