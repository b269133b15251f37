package foliot

import (
	"context"
	"encoding/json"
	"time"
)

// Mux holds the handlers of a process. The zero Mux is ready for use. Open reads
// it: handlers that are added later have no effect.
type Mux struct {
	handlers   map[string]handler
	middleware []Middleware
}

type handler struct {
	run    Handler
	atOnce int
}

// Call is one attempt, as middleware sees it.
type Call struct {
	Kind, Name, Queue string
	Args              json.RawMessage
	Attempt           int
	Due               time.Time
	Labels            map[string]string
}

// Handler runs one attempt. Its result is that of a handler of a kind.
type Handler func(context.Context, *Call) error

// Middleware wraps a handler: for logs, traces, metrics or transactions.
type Middleware func(Handler) Handler

// Use adds middleware for all kinds. The first one is the outermost.
func (m *Mux) Use(w ...Middleware) { m.middleware = append(m.middleware, w...) }

// Limit limits the tasks of one kind.
type Limit func(*handler)

// AtOnce is how many tasks of the kind this process runs at the same time. It
// bounds what one kind can take of Options.Concurrency. Without it a kind can
// take all. To limit a kind over all processes, set the concurrency of its
// queue.
func AtOnce(n int) Limit { return func(h *handler) { h.atOnce = max(n, 1) } }

func (m *Mux) handle(kind string, run Handler, limits []Limit) {
	if kind == "" {
		panic("foliot: a kind without a name has a handler: make it with NewKind")
	}
	if _, twice := m.handlers[kind]; twice {
		panic("foliot: the kind " + kind + " has two handlers")
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

// all returns the handlers with their middleware, and nil for a nil Mux.
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
