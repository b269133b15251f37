package harness

import (
	"context"
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

// Endpoints are the addresses of several nodes. Each call goes to the next of them,
// as a balancer would send it. It may be used by many goroutines.
type Endpoints struct {
	List []*Endpoint
	turn atomic.Int64 // how many calls were made: each writer takes one
}

// Endpoint is one node's. Others are not sent to one that is shut.
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

// Next returns the endpoints in round-robin order. It skips closed ones, unless all are closed.
func (ds *Endpoints) Next() *Endpoint {
	for range ds.List {
		if d := ds.List[int(ds.turn.Add(1))%len(ds.List)]; !d.Closed.Load() {
			return d
		}
	}
	return ds.List[0]
}

// Create creates one task. The name of the task is its Idempotency-Key too. After a
// 5xx, or without a reply, Create repeats the request at the next node.
func (ds *Endpoints) Create(ctx context.Context, in wire.TaskInput) (bool, error) {
	ctx, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	for {
		status, reply, err := ds.Next().CallWith(ctx, map[string]string{"Idempotency-Key": in.Name}, http.MethodPost, "/tasks", in)
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

// Cancel returns the status of the answer, of the first node that could be
// asked. It asks no second one: 0 means that the task may be cancelled or not, as
// no answer came, or a 5xx.
func (ds *Endpoints) Cancel(ctx context.Context, name string) int {
	ctx, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	for {
		status, _, err := ds.Next().Call(ctx, http.MethodDelete, "/tasks/"+url.PathEscape(name), nil)
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

func (ds *Endpoints) close() {
	for _, d := range ds.List {
		d.Close()
	}
}
