package foliot

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Mux holds the handlers of a process, and the zero Mux is ready for use. Only
// one goroutine may add handlers and middleware at a time, and those that are
// added after Open have no effect.
type Mux struct {
	handlers   map[string]handler
	middleware []Middleware
}

type handler struct {
	run    Handler
	atOnce int
}

// Call is one attempt, as middleware receives it, with the fields of Task. It
// is a copy: middleware can change it for the handler, but the stored task
// stays as it is.
type Call struct {
	Kind, Namespace, Name, Queue string
	Args                         json.RawMessage
	Attempt                      int
	Due                          time.Time
	Labels                       map[string]string
}

// Handler runs one attempt, with the results that the package documentation
// lists for the handler of a kind.
type Handler func(context.Context, *Call) error

// Middleware wraps a handler: for logs, traces, metrics or transactions.
type Middleware func(Handler) Handler

// Use adds middleware for all kinds, where the first one is the outermost.
func (m *Mux) Use(w ...Middleware) { m.middleware = append(m.middleware, w...) }

// Limit limits the handlers of one kind, as an argument of Kind.Handle.
type Limit func(*handler)

// AtOnce limits how many handlers of the kind this process runs at the same
// time, where a value below 1 counts as 1. Without AtOnce, a kind can use all
// of Options.Concurrency. To limit a kind in all processes together, set the
// concurrency limit of its queue.
func AtOnce(n int) Limit { return func(h *handler) { h.atOnce = max(n, 1) } }

func (m *Mux) handle(kind string, run Handler, limits []Limit) {
	if kind == "" {
		panic("foliot: a kind without a name cannot have a handler: make the kind with NewKind")
	}
	if err := task.ValidateKind("the name of the kind "+strconv.Quote(kind), kind); err != nil {
		panic("foliot: " + err.Error())
	}
	if _, twice := m.handlers[kind]; twice {
		panic("foliot: the kind " + kind + " already has a handler: call Handle once for each kind")
	}
	if m.handlers == nil {
		m.handlers = map[string]handler{}
	}
	h := handler{run: run}
	for _, limit := range limits {
		limit(&h)
	}
	m.handlers[kind] = h
}

// all returns the handlers, wrapped in the middleware, or nil if m is nil.
func (m *Mux) all() map[string]handler {
	if m == nil {
		return nil
	}
	all := map[string]handler{}
	for kind, h := range m.handlers {
		for i := len(m.middleware) - 1; i >= 0; i-- {
			h.run = m.middleware[i](h.run)
		}
		all[kind] = h
	}
	return all
}
