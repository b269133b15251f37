package api

import (
	"fmt"
	"net/http"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

func (s *Server) batch(w http.ResponseWriter, r *request) error {
	if _, given := r.Header["Idempotency-Key"]; given {
		return refuse("bad_idempotency_key", "Idempotency-Key", "a batch takes no Idempotency-Key: give each task a name, so that a repeat creates no task twice")
	}
	b := batch{server: s, request: r}
	if err := s.readJSON(w, r, task.MaxBatchBytes, b.decode); err != nil {
		return err
	}
	if err := s.revalidate(&r.caller); err != nil {
		return err
	}
	b.checkRate()
	replies, err := s.store.Transit(r.Context(), b.now, store.Changes(b.changes))
	if err != nil {
		return err
	}
	r.reached(replies)
	for i, reply := range replies {
		b.results[b.places[i]] = batchResult(reply)
	}
	return s.reply(w, r, http.StatusOK, wire.BatchReply{Results: b.results, Durability: s.durability(r)})
}

// batch collects the items of one request: the changes of valid items, and the
// results of invalid ones.
type batch struct {
	server  *Server
	request *request
	now     task.Millis
	spec    task.Spec          // of the item that is being read
	results []wire.BatchResult // the results of all items, in order
	changes []task.Change
	places  []int // the index of the item of each change
}

func (b *batch) decode(r *reader) error {
	b.now = b.server.now()
	given := false
	err := r.Object(func(key []byte) error {
		if string(key) != "tasks" {
			return refuse("unknown_field", "", "unknown field: a batch has only tasks")
		}
		given = true
		b.results = make([]wire.BatchResult, 0, 64)
		return r.Array(func(i int) error { return b.item(r, i) })
	})
	if err == nil && !given {
		return refuse("required", "tasks", "missing: a batch needs an array of tasks")
	}
	return err
}

// item reads one item. An error in the item becomes its result, and is an error
// of the whole batch only if the end of the item cannot be found.
func (b *batch) item(r *reader, i int) error {
	if i == task.MaxBatch {
		return refuse("too_many", "", fmt.Sprintf("a batch has at most %d tasks", task.MaxBatch))
	}
	b.spec = task.DefaultSpec()
	refusal, err := r.Try(func() error {
		if err := r.decodeTask(&b.spec, b.request.defaults, b.server.cfg.BodyLimit); err != nil {
			return err
		}
		return b.server.finalize(b.request, &b.spec, "", b.now)
	})
	if err != nil {
		return err
	}
	if refusal == nil {
		b.changes = append(b.changes, task.Create{Spec: b.spec})
		b.places = append(b.places, i)
	}
	b.results = append(b.results, batchResult(store.Reply{Err: refusal}))
	return nil
}

// checkRate removes the creates above the namespace's rate, which are the last
// creates of the batch, and makes the refusal the result of each.
func (b *batch) checkRate() {
	n := b.request.settings.Namespace(b.request.namespace)
	taken, _ := b.server.gate.Take(n, settings.CreateRate, len(b.changes), time.Now())
	for _, place := range b.places[taken:] {
		b.results[place] = batchResult(store.Reply{Err: overRate(n, settings.CreateRate)})
	}
	b.changes, b.places = b.changes[:taken], b.places[:taken]
}

func batchResult(reply store.Reply) wire.BatchResult {
	if reply.Err != nil {
		p := problemOf(reply.Err)
		return wire.BatchResult{
			Status: p.Status, Code: p.Code, Detail: p.Detail, Field: p.Field, ID: p.ID, State: p.State,
			Suggestion: p.Suggestion, Allowed: p.Allowed, Limit: p.Limit,
		}
	}
	if reply.Task == nil { // not tried yet
		return wire.BatchResult{}
	}
	return wire.BatchResult{Status: http.StatusCreated, Name: reply.Task.Name, ID: reply.Task.ID, DueAt: showTime(reply.Task.OriginalDue)}
}
