package foliot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/task"
)

// Mux holds the handlers of a process, and the zero Mux is ready for use. Only
// one goroutine may add handlers and middleware at a time, and none after Open:
// Kind.Handle and Use panic then.
type Mux struct {
	opened     atomic.Bool
	handlers   map[string]handler
	middleware []Middleware
	mistakes   error // of the calls of Handle and Use, for Open
}

type handler struct {
	run    Handler
	atOnce int // 0: no limit
}

// Call is one attempt, as middleware receives it, with the fields of Task. It
// is a copy: middleware can change it for the handler, but the stored task
// stays as it is.
type Call struct {
	ID, Kind, Namespace, Name, Queue string
	Args                             json.RawMessage
	Attempt                          int
	Due                              time.Time
	Labels                           map[string]string
	Schedule                         string
	Instant                          time.Time
}

// Handler runs one attempt, with the results that the package documentation
// lists for the handler of a kind.
type Handler func(context.Context, *Call) error

// Middleware wraps a handler: for logs, metrics or transactions. The error of the
// handler can be a result of Snooze, which is no failure.
type Middleware func(Handler) Handler

// Use adds middleware for all kinds, where the first one is the outermost.
func (m *Mux) Use(w ...Middleware) {
	m.change("Use")
	if slices.ContainsFunc(w, func(w Middleware) bool { return w == nil }) {
		m.refuse("a middleware is nil: pass functions to Use")
	}
	m.middleware = append(m.middleware, w...)
}

// change panics if m is that of a Node.
func (m *Mux) change(call string) {
	if m.opened.Load() {
		panic("foliot: " + call + " has no effect after Open: add all handlers and middleware before")
	}
}

// refuse adds a mistake, which Open reports.
func (m *Mux) refuse(format string, args ...any) {
	m.mistakes = errors.Join(m.mistakes, fmt.Errorf("foliot: "+format, args...))
}

// handle sets the handler of a kind, or adds a mistake.
func (m *Mux) handle(kind string, atOnce *int, isNil bool, run Handler) {
	m.change("Handle")
	_, twice := m.handlers[kind]
	wrong := task.ValidateKind("the name of the kind "+strconv.Quote(kind), kind)
	h := handler{run: run}
	switch {
	case kind == "":
		m.refuse("a kind without a name, such as HTTP, cannot have a handler: make the kind with NewKind")
	case wrong != nil:
		m.refuse("%w", wrong)
	case isNil:
		m.refuse("the handler of the kind %s is nil: pass a function to Handle", kind)
	case twice:
		m.refuse("the kind %s has two handlers: call Handle once for each kind", kind)
	case atOnce != nil && *atOnce < 1:
		m.refuse("AtOnce of the kind %s is %d, but must be at least 1", kind, *atOnce)
	case atOnce != nil:
		h.atOnce = *atOnce
	}
	if m.handlers == nil {
		m.handlers = map[string]handler{}
	}
	m.handlers[kind] = h
}

// check returns the mistakes in m, which can be nil.
func (m *Mux) check() error {
	if m == nil {
		return nil
	}
	limited := 0
	for _, h := range m.handlers {
		if h.atOnce > 0 {
			limited++
		}
	}
	if limited > dispatch.MaxLimitedKinds {
		return errors.Join(m.mistakes, fmt.Errorf("foliot: %d kinds have AtOnce, but at most %d can have it: limit the others by the concurrency of their queues", limited, dispatch.MaxLimitedKinds))
	}
	return m.mistakes
}

// all returns the handlers, wrapped in the middleware, or nil if m is nil.
func (m *Mux) all() map[string]handler {
	if m == nil {
		return nil
	}
	m.opened.Store(true)
	all := map[string]handler{}
	for kind, h := range m.handlers {
		for i := len(m.middleware) - 1; i >= 0; i-- {
			h.run = m.middleware[i](h.run)
		}
		all[kind] = h
	}
	return all
}
