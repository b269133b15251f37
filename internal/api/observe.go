package api

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// observed remembers the status of a reply.
type observed struct {
	http.ResponseWriter
	status int // 0: nothing was written yet
}

// WriteHeader implements http.ResponseWriter.
func (o *observed) WriteHeader(status int) {
	if o.status == 0 || o.status < http.StatusOK { // 1xx come before the status
		o.status = status
	}
	o.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (o *observed) Write(b []byte) (int, error) {
	if o.status == 0 {
		o.status = http.StatusOK
	}
	return o.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach what the writer can do.
func (o *observed) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// observedMethods are the methods that are told apart: a client may make up others.
var observedMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// unrouted is what Observe is told in the place of a path, or method, that a
// client made up: names of metrics must not be the client's to multiply.
const unrouted = "other"

// observe tells Config.Observe of a request that was answered, or broke off.
func (s *Server) observe(r *http.Request, w *observed, began time.Time) {
	route, method := unrouted, unrouted
	if _, path, ok := strings.Cut(r.Pattern, " "); ok { // the mux sets it
		route = path
	}
	if slices.Contains(observedMethods, r.Method) {
		method = r.Method
	}
	s.cfg.Observe(route, method, w.status, time.Since(began))
}
