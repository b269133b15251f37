package api

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// observedMethods are the methods that have a metric of their own. A client can
// send any other word as the method.
var observedMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// unrouted replaces a path or method that a client made up. Otherwise clients
// could create any number of metrics.
const unrouted = "other"

// observe calls Config.Observe for a request that has ended.
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
