package httpserver

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"
)

// accessLog writes a line for each request at level debug. The line has the
// route, because the path contains names of tasks. It never has the query.
type accessLog struct {
	log  *slog.Logger
	addr func(*http.Request) netip.Addr
}

// sender identifies the namespace and token of a request. Unknown fields are
// "".
type sender struct{ namespace, token string }

type senderKey struct{}

// Authenticated records the namespace and token of an authenticated request,
// for the access log. It also marks the connection as authenticated.
func Authenticated(ctx context.Context, namespace, token string) {
	markAuthenticated(ctx)
	if s, ok := ctx.Value(senderKey{}).(*sender); ok {
		*s = sender{namespace, token}
	}
}

// handler returns next with an access log.
func (l accessLog) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.log.Enabled(r.Context(), slog.LevelDebug) {
			next.ServeHTTP(w, r)
			return
		}
		began, status, from := time.Now(), &statusWriter{ResponseWriter: w}, new(sender)
		r = r.WithContext(context.WithValue(r.Context(), senderKey{}, from))
		defer func() { l.write(r, status.code(), time.Since(began), from) }()
		next.ServeHTTP(status, r)
	})
}

func (l accessLog) write(r *http.Request, status int, took time.Duration, from *sender) {
	line := []slog.Attr{
		slog.String("method", r.Method), slog.String("route", r.Pattern), slog.Int("status", status),
		slog.Duration("took", took), slog.String("remote", l.addr(r).String()),
	}
	if from.namespace != "" {
		line = append(line, slog.String("namespace", from.namespace))
	}
	if from.token != "" {
		line = append(line, slog.String("token_id", from.token))
	}
	l.log.LogAttrs(r.Context(), slog.LevelDebug, "request", line...)
}

// statusWriter records the status of a reply.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	if w.status < http.StatusOK { // 1xx precede the final status
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// code returns the status that was sent: 200 if the handler set none.
func (w *statusWriter) code() int {
	if w.status == 0 {
		return http.StatusOK
	}
	return w.status
}
