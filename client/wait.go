package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

const (
	// pollWait is how long one request of Wait asks the server to wait.
	pollWait = 30 * time.Second
	// patience is how long Wait goes on while the server does not answer: a restart ends well within it.
	patience = 60 * time.Second
	// pollAgain is the least time between two requests of Wait: a server that is stopping answers at once, with what it knows.
	pollAgain = 250 * time.Millisecond
)

// Poll returns a task, with its body, when it is finished or dead, or after wait (5m at most) as it is then. Errors: ErrNotFound.
func (ts Tasks) Poll(ctx context.Context, name string, wait time.Duration) (*Task, error) {
	op := "get " + name
	path, err := taskPath(op, name)
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	if wait != 0 {
		query.Set("wait", wait.String())
	}
	return ts.one(ctx, &call{op: op, method: http.MethodGet, path: path, query: query, extra: max(wait, 0), repeatable: true})
}

// Wait returns a task, with its body, when it is finished or dead: Task.State says which. It outlives a restart of the server, and returns the
// last error when a poll of half a minute was not answered for another minute. Errors: ErrNotFound, ErrReplaced, the context's.
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
		case !passing(err) || ctx.Err() != nil || time.Since(answered) >= patience+pollWait:
			return nil, err
		}
		if early := pollAgain - time.Since(asked); early > 0 && !t.State.Ended() {
			if err := rest(ctx, early); err != nil {
				return nil, fmt.Errorf("wait for %s: %w", name, err)
			}
		}
	}
	return t, nil
}

// pollOnce is a poll of Wait: a server that takes the request and says nothing does not use up more than its patience.
func (ts Tasks) pollOnce(ctx context.Context, name string) (*Task, error) {
	ctx, cancel := context.WithTimeout(ctx, patience+pollWait)
	defer cancel()
	return ts.Poll(ctx, name, pollWait)
}

// passing reports whether err may pass by itself, as a restart does.
func passing(err error) bool {
	var refused *Error
	var silent *TransportError
	switch {
	case errors.As(err, &refused):
		return refused.Status == http.StatusTooManyRequests || busy(refused.Status)
	case errors.As(err, &silent):
		return !hopeless(silent.Err)
	}
	return false
}
