package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

const (
	maxBatch      = 1000     // tasks of one request
	maxBatchBytes = 16 << 20 // bytes of one request
)

// BatchResult is the outcome of one item of a batch: either Err is set, or the
// other fields are.
type BatchResult struct {
	Name  string
	ID    string
	DueAt time.Time
	Err   error // an *Error: ErrExists, with ID and State, if the name is taken; ErrRateLimited if the item may be sent again soon
}

// CreateBatch creates any number of tasks, each one independently: a refused
// task does not prevent the rest. It sends requests of at most 1000 tasks
// and 16 MiB, one after another. results[i] is the outcome of specs[i].
//
// An error ends the batch early, and results then holds only the items that
// were answered. Up to 1000 of the following items may have been created
// nevertheless: see MaybeApplied. A batch has no Idempotency-Key, so give the
// tasks names: a repeat then shows which of them exist.
func (ts Tasks) CreateBatch(ctx context.Context, specs []Spec) (results []BatchResult, err error) {
	b := batch{conn: ts.conn, results: make([]BatchResult, 0, len(specs))}
	for _, s := range specs {
		item, err := s.MarshalJSON()
		if err := b.add(ctx, item, err); err != nil {
			return b.results, err
		}
	}
	return b.results, b.flush(ctx)
}

// CreateBatchJSON is CreateBatch for tasks that are encoded already, such as
// the lines of a file. If one is invalid JSON, the server refuses the whole
// request.
func (ts Tasks) CreateBatchJSON(ctx context.Context, items []json.RawMessage) (results []BatchResult, err error) {
	b := batch{conn: ts.conn, results: make([]BatchResult, 0, len(items))}
	for _, item := range items {
		if err := b.add(ctx, item, nil); err != nil {
			return b.results, err
		}
	}
	return b.results, b.flush(ctx)
}

// batch collects items into requests.
type batch struct {
	conn    *conn
	results []BatchResult // of the items that were answered

	faults []error // for each item of the next request: its error, or nil if it is in body
	sent   int     // number of items in body
	body   []byte  // without batchTail
}

const (
	batchOp   = "create a batch"
	batchHead = `{"tasks":[`
	batchTail = `]}`
)

// add appends an item, or its error, to the next request, which it sends first
// if there is no room.
func (b *batch) add(ctx context.Context, item []byte, fault error) error {
	if b.sent == maxBatch || b.sent > 0 && len(b.body)+len(",")+len(item)+len(batchTail) > maxBatchBytes {
		if err := b.flush(ctx); err != nil {
			return err
		}
	}
	if fault != nil {
		b.faults = append(b.faults, badBody("", fault))
		return nil
	}
	if b.sent > 0 {
		b.body = append(b.body, ',')
	} else { // a new array: the transport may still hold the old one
		b.body = append(make([]byte, 0, max(cap(b.body), len(batchHead)+len(item)+len(batchTail))), batchHead...)
	}
	b.body = append(b.body, item...)
	b.faults = append(b.faults, nil)
	b.sent++
	return nil
}

func (b *batch) flush(ctx context.Context) error {
	replies, err := b.send(ctx)
	if err != nil {
		return err
	}
	for _, fault := range b.faults {
		result := BatchResult{Err: fault}
		if fault == nil {
			if result, err = batchResult(replies[0]); err != nil {
				return err
			}
			replies = replies[1:]
		}
		b.results = append(b.results, result)
	}
	b.faults, b.sent = b.faults[:0], 0
	return nil
}

// send sends the body and returns a result for each item in it.
func (b *batch) send(ctx context.Context) ([]wire.BatchResult, error) {
	if b.sent == 0 {
		return nil, nil
	}
	reply := wire.BatchReply{Results: make([]wire.BatchResult, 0, b.sent)}
	_, err := b.conn.do(ctx, &call{op: batchOp, method: http.MethodPost, path: "/tasks/batch", body: append(b.body, batchTail...), into: &reply})
	var e *Error
	switch {
	case b.sent == 1 && errors.As(err, &e) && e.Code != "" && (e.Status == http.StatusBadRequest || e.Status == http.StatusRequestEntityTooLarge):
		return []wire.BatchResult{{Status: e.Status, Code: e.Code, Detail: e.Detail, Field: e.Field}}, nil
	case err != nil:
		return nil, err
	case len(reply.Results) != b.sent:
		return nil, &Error{Op: batchOp, Status: http.StatusOK, Detail: fmt.Sprintf("the server returned %d results for %d tasks", len(reply.Results), b.sent), MaybeApplied: true}
	}
	return reply.Results, nil
}

func batchResult(r wire.BatchResult) (BatchResult, error) {
	if r.Status >= http.StatusMultipleChoices {
		return BatchResult{Err: problemError(wire.Problem{Status: r.Status, Code: r.Code, Detail: r.Detail, Field: r.Field, ID: r.ID, State: r.State})}, nil
	}
	at, err := readInstant(r.DueAt)
	if err != nil {
		err = fmt.Errorf("%s: %w", batchOp, err)
	}
	return BatchResult{Name: r.Name, ID: r.ID, DueAt: at}, err
}
