package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// Endpoints has the addresses of several nodes. Each call goes to the next
// node, as behind a load balancer. Many goroutines may use it.
type Endpoints struct {
	List []*Endpoint
	turn atomic.Int64 // number of calls so far: each call adds one
}

// Endpoint is the address of one node. Calls do not go to a closed endpoint.
type Endpoint struct {
	*Client
	Closed atomic.Bool // set when the node is stopped; callers read it
}

const (
	endpointTimeout = 5 * time.Second  // with one node
	callTimeout     = 30 * time.Second // of a caller
	callPause       = 20 * time.Millisecond
)

func newEndpoint(server string) *Endpoint {
	d := &Endpoint{Client: NewClient(server)}
	d.HTTP.Timeout = endpointTimeout
	return d
}

// Next returns the endpoints in round-robin order. It skips closed ones, unless
// all are closed.
func (e *Endpoints) Next() *Endpoint {
	for range e.List {
		if d := e.List[int(e.turn.Add(1))%len(e.List)]; !d.Closed.Load() {
			return d
		}
	}
	return e.List[0]
}

// Create creates one task. The name of the task is its Idempotency-Key too.
// After a 5xx, or without a reply, Create repeats the request at the next node.
func (e *Endpoints) Create(ctx context.Context, in wire.TaskInput) (bool, error) {
	ctx, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	for {
		status, reply, err := e.Next().CallWith(ctx, map[string]string{"Idempotency-Key": in.Name}, http.MethodPost, "/tasks", in)
		switch {
		case err == nil && status/100 == 2:
			return true, nil
		case err == nil:
			err = fmt.Errorf("create %s: status %d: %.300s", in.Name, status, reply)
			if status < http.StatusInternalServerError {
				return false, err
			}
		}
		if !timing.Pause(ctx, callPause) {
			return false, errors.Join(err, ctx.Err())
		}
	}
}

// Cancel cancels a task at the first node that accepts a connection, and
// returns the status of its reply. It does not repeat the request at another
// node. 0 means that no reply came, or a 5xx: then the task may be cancelled or
// not.
func (e *Endpoints) Cancel(ctx context.Context, name string) int {
	ctx, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	for {
		status, _, err := e.Next().Call(ctx, http.MethodDelete, "/tasks/"+url.PathEscape(name), nil)
		var op *net.OpError
		switch {
		case err == nil && status < http.StatusInternalServerError:
			return status
		case errors.As(err, &op) && op.Op == "dial" && timing.Pause(ctx, callPause):
			continue // no node got the request
		}
		return 0
	}
}

// Move moves a task by a single request.
func (e *Endpoints) Move(ctx context.Context, name string, due time.Time) bool {
	status, _, err := e.Next().Call(ctx, http.MethodPatch, "/tasks/"+url.PathEscape(name), map[string]string{"at": wire.FormatTime(due)})
	return err == nil && status/100 == 2
}

func (e *Endpoints) close() {
	for _, d := range e.List {
		d.Close()
	}
}

// History writes the history of a node, and returns how many attempts and creates the history
// of all nodes has in the last day.
func (e *Environment) History(ctx context.Context, node int) (attempts, created int) {
	status, reply, err := e.Endpoints.List[node].Call(ctx, http.MethodGet, "/history?from=-24h&step=1m", nil)
	Check(err)
	var h wire.History
	if err := json.Unmarshal(reply, &h); err != nil || status != http.StatusOK {
		Fatalf("GET /v1/history: status %d: %s", status, reply)
	}
	for _, s := range h.Steps {
		attempts, created = attempts+int(s.Attempts), created+int(s.Created)
	}
	return attempts, created
}
