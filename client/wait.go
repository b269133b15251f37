package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/foliot/foliot/client/internal/conn"
)

const (
	// pollWait is the time that one request of Wait asks the server to wait.
	pollWait = 30 * time.Second
	// outage is the time for which Wait continues without a reply, much longer
	// than a restart takes.
	outage = 60 * time.Second
	// pollAgain is the shortest time between two requests of Wait: a server
	// that is stopping answers at once.
	pollAgain = 250 * time.Millisecond
)

// Poll returns a task, with its body, as soon as it is finished or dead. After
// wait, which is at most 5m, it returns the task as it is, and at once if wait
// is zero. Errors: ErrNotFound.
func (ts Tasks) Poll(ctx context.Context, name string, wait time.Duration) (*Task, error) {
	query := conn.Params{}
	query.Add("wait", wait)
	return ts.named(ctx, "get", name, &conn.Call{Method: http.MethodGet, Query: query, Extra: max(wait, 0), Repeatable: true})
}

// Wait returns a task, with its body, when it is finished or dead: see
// State.Ended. It continues across a restart of the server, but if no reply
// comes for a minute and a half, it returns the last error. Errors:
// ErrNotFound, ErrReplaced, and the context's error.
func (ts Tasks) Wait(ctx context.Context, name string) (*Task, error) {
	t, err := ts.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	id, answered := t.ID, time.Now()
	for !t.State.Ended() {
		asked := time.Now()
		next, err := ts.pollOnce(ctx, name)
		switch {
		case err == nil && next.ID != id:
			return nil, fmt.Errorf("wait for %s: %w", name, ErrReplaced)
		case err == nil:
			t, answered = next, time.Now()
		case !temporary(err) || ctx.Err() != nil || time.Since(answered) >= outage+pollWait:
			return nil, err
		}
		if early := pollAgain - time.Since(asked); early > 0 && !t.State.Ended() {
			if err := sleep(ctx, early); err != nil {
				return nil, fmt.Errorf("wait for %s: %w", name, err)
			}
		}
	}
	return t, nil
}

// pollOnce is one poll of Wait, which ends if a server takes the request and
// never replies.
func (ts Tasks) pollOnce(ctx context.Context, name string) (*Task, error) {
	ctx, cancel := context.WithTimeout(ctx, outage+pollWait)
	defer cancel()
	return ts.Poll(ctx, name, pollWait)
}

// temporary reports whether err may pass by itself, as an error during a
// restart does.
func temporary(err error) bool {
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused.Status == http.StatusTooManyRequests || busy(refused.Status)
	}
	transport, ok := errors.AsType[*TransportError](err)
	return ok && !permanent(transport.Err)
}
