package main

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

// doors are the addresses of several nodes. Each call goes to the next of them,
// as a balancer would send it. It may be used by many goroutines.
type doors struct {
	list []*door
	turn atomic.Int64 // how many calls were made: each writer takes one
}

// door is one node's. Others are not sent to one that is shut.
type door struct {
	*client
	shut atomic.Bool // by who stops the node; whoever calls reads it
}

const (
	doorPatience = 5 * time.Second  // with one node
	callPatience = 30 * time.Second // of a caller
	callPause    = 20 * time.Millisecond
)

func newDoor(server string) *door {
	d := &door{client: newClient(server)}
	d.http.Timeout = doorPatience
	return d
}

// next returns the door whose turn it is, one that is open if there is any.
func (ds *doors) next() *door {
	for range ds.list {
		if d := ds.list[int(ds.turn.Add(1))%len(ds.list)]; !d.shut.Load() {
			return d
		}
	}
	return ds.list[0]
}

// create makes one task, whose name is its Idempotency-Key too: what has no
// answer, or a 5xx, is asked for again at the next node.
func (ds *doors) create(ctx context.Context, in wire.TaskInput) (bool, error) {
	ctx, stop := context.WithTimeout(ctx, callPatience)
	defer stop()
	for {
		status, reply, err := ds.next().callWith(ctx, map[string]string{"Idempotency-Key": in.Name}, http.MethodPost, "/tasks", in)
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

// cancel returns the status of the answer, of the first node that could be
// asked. It asks no second one: 0 means that the task may be cancelled or not, as
// no answer came, or a 5xx.
func (ds *doors) cancel(ctx context.Context, name string) int {
	ctx, stop := context.WithTimeout(ctx, callPatience)
	defer stop()
	for {
		status, _, err := ds.next().call(ctx, http.MethodDelete, "/tasks/"+url.PathEscape(name), nil)
		var op *net.OpError
		switch {
		case err == nil && status < http.StatusInternalServerError:
			return status
		case errors.As(err, &op) && op.Op == "dial" && timing.Pause(ctx, callPause):
			continue // nobody was asked
		}
		return 0
	}
}

func (ds *doors) close() {
	for _, d := range ds.list {
		d.close()
	}
}
