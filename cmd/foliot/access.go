package main

import (
	"log/slog"
	"net/http"
	"time"
)

// logged writes a line for each request at level debug: its route, not its
// path, as that names tasks, and never its query.
func logged(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !log.Enabled(r.Context(), slog.LevelDebug) {
			next.ServeHTTP(w, r)
			return
		}
		began, status := time.Now(), &statusWriter{ResponseWriter: w}
		defer func() {
			log.LogAttrs(r.Context(), slog.LevelDebug, "request", slog.String("method", r.Method), slog.String("route", r.Pattern),
				slog.Int("status", status.code()), slog.Duration("took", time.Since(began)), slog.String("remote", r.RemoteAddr))
		}()
		next.ServeHTTP(status, r)
	})
}

// statusWriter remembers the status of a reply.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// code returns the status that was sent: 200 where the handler left it at that.
func (w *statusWriter) code() int {
	if w.status == 0 {
		return http.StatusOK
	}
	return w.status
}
