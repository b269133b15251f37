package api

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/foliot/foliot/internal/api/admission"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// batch is one request with many items: tasks to create, or calls. An item is
// decoded, limited, made and answered as a single request would be, except that all
// changes are one call of the store.
type batch struct {
	*request
	server *Server
	now    task.Millis
	tasks  bool // the items are tasks, and the results only name them
	items  []item
	stored int      // the items that are cancels or touches
	sent   sentCall // the item that is being read
	logged bool     // a failure was logged; more would have the same reason
}

// item is one item of a batch.
type item struct {
	call
	refusal error         // the reason that no change is made
	wait    time.Duration // until it can be repeated, if a rate refused it
	done    *store.Reply
}

// storedPerUnit is the number of cancels and touches that weigh a unit more. Their
// replies have tasks, which are larger than the calls. A list weighs as much.
const storedPerUnit = 16

func (s *Server) batch(w http.ResponseWriter, r *request) error {
	if _, given := r.Header["Idempotency-Key"]; given {
		return refuse("bad_idempotency_key", "Idempotency-Key", "a batch takes no Idempotency-Key: give each call a key, or each task a name, so that a repeat creates no task twice")
	}
	b := batch{request: r, server: s}
	if err := s.readJSON(w, r, task.MaxBatchBytes, b.decode); err != nil {
		return err
	}
	if units := int64(b.stored / storedPerUnit); units > 0 && r.ContentLength >= 0 { // otherwise it weighs Large
		r.out.Leave() // a request that waits for more units must hold none
		if err := r.out.enter(r.Request, r.out.namespace, min(bodyUnits(r.Request)+units, admission.Large)); err != nil {
			return err
		}
	}
	changes := make([]task.Change, 0, len(b.items))
	places := make([]int, 0, len(b.items)) // the index of the item of each change
	limited := false
	for i := range b.items {
		it := &b.items[i]
		if it.refusal == nil {
			it.wait, it.refusal = s.takeRate(r, it.change)
			limited = limited || it.refusal != nil
		}
		if it.refusal == nil {
			changes, places = append(changes, it.change), append(places, i)
		}
	}
	if limited && len(changes) == 0 {
		s.delayRefusal(r.Context(), w, "rate_exceeded")
	}
	replies, err := s.transit(r, b.now, changes)
	if err != nil {
		return err
	}
	for i := range replies {
		b.items[places[i]].done = &replies[i]
	}
	return s.writeArray(w, "results", len(b.items), func(i int) any { return b.result(&b.items[i]) }, "durability", s.durability(r))
}

func (b *batch) decode(r *reader) error {
	b.now = b.server.now()
	err := r.Object(func(key []byte) error {
		word := string(key)
		switch {
		case word != "tasks" && word != "calls":
			return refuse("unknown_field", "", "unknown field: a batch has only tasks or calls")
		case b.items != nil:
			return refuse("conflict", "", "a batch has either tasks or calls")
		}
		b.tasks, b.items = word == "tasks", make([]item, 0, 64)
		read := b.readCall
		if b.tasks {
			read = b.readTask
		}
		return r.Array(func(i int) error {
			if i == task.MaxBatch {
				return refuse("too_many", "", fmt.Sprintf("a batch has at most %d %s", task.MaxBatch, word))
			}
			// An error in an item is an error of the whole batch only if the end of the
			// item cannot be found.
			var it item
			var err error
			it.refusal, err = r.Try(func() (err error) {
				it.call, err = read(r)
				return err
			})
			b.items = append(b.items, it)
			return err
		})
	})
	if err == nil && b.items == nil {
		return refuse("required", "tasks", "missing: a batch needs an array of tasks or calls")
	}
	return err
}

func (b *batch) readTask(r *reader) (call, error) {
	spec := &b.sent.spec
	*spec = task.DefaultSpec()
	if err := r.decodeTask(spec, b.defaults, b.server.cfg.BodyLimit); err != nil {
		return call{}, err
	}
	return b.server.createCall(b.request, spec, nil, "", b.now)
}

// sentCall is a call as the client sent it.
type sentCall struct {
	verb, name  string      // name: of a cancel or touch
	headers     http.Header // its key and preconditions, as a single request has them
	spec, given task.Spec   // of a create or put: see decodeSpec
	refused     error       // the refusal of spec
}

var (
	callFields = []string{"create", "put", "cancel", "touch", "key", "if_match", "if_none_match"}
	// callHeaders are the headers of a single request that are fields of a call.
	callHeaders = map[string]string{"key": "Idempotency-Key", "if_match": "If-Match", "if_none_match": "If-None-Match"}
)

// readCall reads a call. An error in its task, key or preconditions is that of a
// single request, with the same field.
func (b *batch) readCall(r *reader) (call, error) {
	c := &b.sent
	*c = sentCall{headers: c.headers}
	clear(c.headers)
	err := r.Object(func(key []byte) (err error) {
		word := string(key)
		if header := callHeaders[word]; header != "" {
			if c.headers == nil {
				c.headers = http.Header{}
			}
			value, err := r.Text()
			c.headers[header] = []string{value}
			return err
		}
		switch {
		case c.verb != "":
			err = refuse("conflict", "", "cannot be combined with "+c.verb+": a call has one verb")
		case word == "create", word == "put":
			c.verb, c.spec = word, task.DefaultSpec()
			c.refused, err = r.Try(func() error { return b.server.decodeSpec(r, b.request, &c.spec, &c.given) })
		case word == "cancel", word == "touch":
			c.verb = word
			c.name, err = r.Text()
		default:
			err = noSuchField(key, callFields)
		}
		return err
	})
	if err := cmp.Or(err, c.refused); err != nil {
		return call{}, err
	}
	return b.callOf(c)
}

func (b *batch) callOf(c *sentCall) (call, error) {
	key, err := idempotencyKey(c.headers)
	cond, badCondition := precondition(c.headers)
	if err := cmp.Or(err, badCondition); err != nil {
		return call{}, err
	}
	switch c.verb {
	case "create":
		if cond.IfMatch != nil || cond.IfNoneMatch {
			return call{}, refuse("conflict", "if_match", "a create has no precondition: to replace a task, use put")
		}
		return b.server.createCall(b.request, &c.spec, idempotency(key, &c.given, http.MethodPost), key, b.now)
	case "put":
		if c.spec.Name == "" {
			return call{}, refuse("required", "name", "missing: a put needs the name of its task")
		}
		return b.server.putCall(b.request, &c.spec, idempotency(key, &c.given, http.MethodPut), cond, b.now)
	case "":
		return call{}, refuse("required", "", "missing: a call has create, put, cancel or touch")
	}
	if key != "" {
		return call{}, refuse("conflict", "key", "cannot be combined with "+c.verb+": only create and put have a key")
	}
	b.stored++
	target := task.Key{Namespace: b.namespace, Name: c.name}
	change := task.Change(task.Cancel{Key: target, If: cond})
	if c.verb == "touch" {
		change = task.Touch{Key: target, If: cond}
	}
	return call{change: change, status: http.StatusOK}, task.ValidateRecordName("name", c.name)
}

// result returns what a single request would have as its reply.
func (b *batch) result(it *item) any {
	err, status := it.refusal, 0
	if err == nil {
		status, err = it.outcome(it.done)
	}
	switch {
	case err != nil:
		return b.problem(it, err)
	case b.tasks:
		t := it.done.Task
		return &wire.BatchResult{Status: status, Name: t.Name, ID: t.ID, DueAt: showTime(t.OriginalDue)}
	}
	return &wire.BatchResult{Status: status, Task: b.server.showChange(b.request, it.done)}
}

func (b *batch) problem(it *item, err error) *wire.BatchResult {
	p := problemOf(err)
	if !b.logged {
		b.logged = b.server.logFailure(b.Request, p, err)
	}
	result := &wire.BatchResult{
		Status: p.Status, Code: p.Code, Detail: p.Detail, Field: p.Field, Kind: p.Kind, Name: p.Name, ID: p.ID, State: p.State,
		Suggestion: p.Suggestion, Allowed: p.Allowed, Limit: p.Limit,
	}
	if it.wait > 0 || soon(p) {
		result.RetryAfter = seconds(it.wait)
	}
	return result
}
