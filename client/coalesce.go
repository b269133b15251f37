package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/foliot/foliot/client/internal/batches"
	"github.com/foliot/foliot/client/internal/conn"
	"github.com/foliot/foliot/client/internal/convert"
	"github.com/foliot/foliot/internal/wire"
)

// coalescer sends calls of a client together if many are made at once. A call
// goes out by its own route, with its own context, if few are under way. A batch
// has a goroutine and a context of its own: it ends if the contexts of all its
// calls have ended.
type coalescer struct {
	conn *connection

	mu    sync.Mutex
	queue batches.Queue[*pending]
	timer *time.Timer // calls launch when a batch is slow; nil before the first use
}

// pending is a call that has no result yet. One goroutine runs it; the
// coalescer's mutex guards batch.
type pending struct {
	call  *conn.Call
	most  int          // the largest batch that it may be in
	reply chan outcome // one for each time that it is sent; with room for it
	batch *batch       // the last one that it was in

	requests     int  // so far, without those that were repeated because of another call
	maybeApplied bool // by an earlier request
	outcome
}

// outcome is the result of a call that was sent.
type outcome struct {
	err   error
	whole int // the number of calls of the batch that failed as a whole; 0: none did
}

// batch is a request with several calls.
type batch struct {
	id     uint64
	calls  []*pending
	live   int // the calls whose contexts have not ended
	cancel context.CancelFunc
}

func newPending(c *conn.Call) *pending {
	return &pending{call: c, most: batches.MaxCalls, reply: make(chan outcome, 1)}
}

// send sends calls once, and sets their outcomes.
func (co *coalescer) send(ctx context.Context, calls []*pending) {
	co.mu.Lock()
	for _, p := range calls {
		co.queue.Add(p, size(p.call), p.most)
	}
	id, first := co.queue.Next(time.Now())
	if len(calls) == 1 && len(first) == 1 && first[0] == calls[0] { // alone: in this goroutine
		co.mu.Unlock()
		_, err := co.conn.try(ctx, calls[0].call)
		calls[0].outcome = outcome{err: err}
		co.mu.Lock()
		co.queue.End(id)
		co.launchLocked()
		co.mu.Unlock()
		return
	}
	co.startLocked(id, first)
	co.launchLocked()
	co.mu.Unlock()
	for _, p := range calls {
		select {
		case p.outcome = <-p.reply:
		case <-ctx.Done():
			p.outcome = co.leave(ctx, p)
		}
	}
}

// leave gives up a call, and returns its outcome.
func (co *coalescer) leave(ctx context.Context, p *pending) outcome {
	co.mu.Lock()
	defer co.mu.Unlock()
	cause := context.Cause(ctx)
	if co.queue.Remove(p) {
		co.launchLocked() // it may have been the last that waits
		return outcome{err: &TransportError{Op: p.call.Op, Server: co.conn.base, Err: cause}}
	}
	select {
	case done := <-p.reply:
		return done
	default:
	}
	if p.batch.live--; p.batch.live == 0 {
		p.batch.cancel()
	}
	return outcome{err: &TransportError{Op: p.call.Op, Server: co.conn.base, Err: cause, MaybeApplied: true}}
}

// launch starts the batches that may go out now.
func (co *coalescer) launch() {
	co.mu.Lock()
	defer co.mu.Unlock()
	co.launchLocked()
}

func (co *coalescer) launchLocked() {
	now := time.Now()
	for {
		id, calls := co.queue.Next(now)
		if calls == nil {
			break
		}
		co.startLocked(id, calls)
	}
	wake := co.queue.Wake()
	switch {
	case wake.IsZero():
		if co.timer != nil {
			co.timer.Stop()
		}
	case co.timer == nil:
		co.timer = time.AfterFunc(wake.Sub(now), co.launch)
	default:
		co.timer.Reset(wake.Sub(now))
	}
}

// startLocked starts the goroutine of a batch, if it has calls.
func (co *coalescer) startLocked(id uint64, calls []*pending) {
	if calls == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	b := &batch{id: id, calls: calls, live: len(calls), cancel: cancel}
	for _, p := range calls {
		p.batch = b
	}
	go co.run(ctx, b)
}

// run sends a batch.
func (co *coalescer) run(ctx context.Context, b *batch) {
	defer b.cancel()
	if len(b.calls) == 1 {
		_, err := co.conn.try(ctx, b.calls[0].call)
		b.calls[0].reply <- outcome{err: err}
	} else {
		co.exchange(ctx, b.calls)
	}
	runtime.Gosched() // the callers of this batch, which often call again, get into the next one
	co.mu.Lock()
	defer co.mu.Unlock()
	co.queue.End(b.id)
	co.launchLocked()
}

// exchange sends several calls in one request, and passes each its outcome.
func (co *coalescer) exchange(ctx context.Context, calls []*pending) {
	var reply convert.BatchReply
	c := &conn.Call{Op: "send a batch", Method: http.MethodPost, Path: "/tasks/batch", Body: bodyOf(calls), Into: &reply}
	_, err := co.conn.try(ctx, c)
	if n := len(reply.Results); err == nil && n != len(calls) {
		err = &Error{Status: http.StatusOK, Detail: fmt.Sprintf("the server returned %d results for %d calls", n, len(calls)), MaybeApplied: true}
	}
	for i, p := range calls {
		if err != nil {
			p.most = max(1, len(calls)/2)
			p.reply <- outcome{err: errorOf(p.call, err), whole: len(calls)}
			continue
		}
		p.reply <- outcome{err: co.conn.result(p.call, reply.Results[i])}
	}
}

// result returns the error of a call in a batch, or fills its target.
func (cn *connection) result(c *conn.Call, r wire.BatchResult) (err error) {
	if r.Status >= http.StatusMultipleChoices {
		return refusal(c, wire.Problem{
			Status: r.Status, Code: r.Code, Detail: r.Detail, Field: r.Field, ID: r.ID, State: r.State, Suggestion: r.Suggestion, Kind: r.Kind, Name: r.Name, Allowed: r.Allowed,
		}, time.Duration(r.RetryAfter)*time.Second)
	}
	if r.Task == nil {
		err = errors.New("there is no task")
	} else {
		err = c.Into.(*Task).read(r.Task)
	}
	if err != nil {
		return &Error{Op: c.Op, Status: r.Status, Detail: cn.base + " replied with an invalid result (" + err.Error() + "): is it a Foliot server?", MaybeApplied: true}
	}
	return nil
}

// errorOf returns the error of a whole batch as that of one of its calls.
func errorOf(c *conn.Call, err error) error {
	if transport, ok := errors.AsType[*TransportError](err); ok { // first: its cause may wrap another call's Error
		e := *transport
		e.Op = c.Op
		return &e
	}
	if refused, ok := errors.AsType[*Error](err); ok {
		e := *refused
		e.Op = c.Op
		return &e
	}
	return err
}

// size returns the bytes that a call takes in a batch, or a few more.
func size(c *conn.Call) int {
	n := len(c.Body) + len(c.Name) + len(`{"create":"","key":"","if_match":"","if_none_match":"*"},`)
	for _, o := range c.Options {
		n += len(o.Value)
	}
	return n
}

// bodyOf returns the body of a batch. The tasks in it are already encoded.
func bodyOf(calls []*pending) []byte {
	length := 0
	for _, p := range calls {
		length += size(p.call)
	}
	body := append(make([]byte, 0, length+len(`{"calls":[]}`)), `{"calls":[`...)
	for i, p := range calls {
		if i > 0 {
			body = append(body, ',')
		}
		body = appendCall(body, p.call)
	}
	return append(body, `]}`...)
}

func appendCall(b []byte, c *conn.Call) []byte {
	b = append(append(append(b, `{"`...), c.Batch...), `":`...)
	if c.Body != nil {
		b = append(b, c.Body...)
	} else {
		b = appendText(b, c.Name)
	}
	for _, o := range c.Options {
		if o.Header != "" {
			b = appendText(append(b, optionKeys[o.Header]...), o.Value)
		}
	}
	return append(b, '}')
}

// optionKeys are the members of a call in a batch for its headers.
var optionKeys = map[string]string{"Idempotency-Key": `,"key":`, "If-Match": `,"if_match":`, "If-None-Match": `,"if_none_match":`}

func appendText(b []byte, s string) []byte {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return append(append(append(b, '"'), s...), '"')
	}
	text, _ := json.Marshal(s) // a string can always be encoded
	return append(b, text...)
}
