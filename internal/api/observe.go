package api

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
)

// observedMethods are the methods that have a metric of their own, because a
// client can send any word as the method.
var observedMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// unrouted replaces a path or method that a client made up, because clients
// could otherwise create any number of metrics.
const unrouted = "other"

// sender is the namespace and the token id of an authenticated request, with the
// id "" if no token was required.
type sender struct{ namespace, token string }

// logRequest writes a line at level debug for a request that has ended, with the
// route, because the path contains names of tasks, but never the query.
func (s *Server) logRequest(r *http.Request, out *response, began time.Time) {
	if !s.cfg.Log.Enabled(r.Context(), slog.LevelDebug) {
		return
	}
	line := []slog.Attr{
		slog.String("method", r.Method), slog.String("route", r.Pattern), slog.Int("status", out.status),
		slog.Duration("took", time.Since(began)), slog.String("remote", s.cfg.ClientAddr(r).String()),
	}
	if out.sender.namespace != "" {
		line = append(line, slog.String("namespace", out.sender.namespace))
	}
	if out.sender.token != "" {
		line = append(line, slog.String("token_id", out.sender.token))
	}
	s.cfg.Log.LogAttrs(r.Context(), slog.LevelDebug, "request", line...)
}

// observe calls Config.Observe for a request that has ended.
func (s *Server) observe(r *http.Request, status int, began time.Time) {
	route, method := unrouted, unrouted
	if _, path, ok := strings.Cut(r.Pattern, " "); ok { // the mux sets it
		route = path
	}
	if slices.Contains(observedMethods, r.Method) {
		method = r.Method
	}
	s.cfg.Observe(r.Context(), route, method, status, time.Since(began))
}
