package api

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// observedMethods are the methods that are told apart: a client may make up others.
var observedMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// unrouted is what Observe is told in the place of a path, or method, that a
// client made up: names of metrics must not be the client's to multiply.
const unrouted = "other"

// observe tells Config.Observe of a request that was answered, or broke off.
func (s *Server) observe(r *http.Request, status int, began time.Time) {
	route, method := unrouted, unrouted
	if _, path, ok := strings.Cut(r.Pattern, " "); ok { // the mux sets it
		route = path
	}
	if slices.Contains(observedMethods, r.Method) {
		method = r.Method
	}
	s.cfg.Observe(route, method, status, time.Since(began))
}
