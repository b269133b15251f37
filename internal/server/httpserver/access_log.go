package httpserver

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"
)

// accessLog writes a line for each request at level debug: its route, not its
// path, as that names tasks, and never its query.
type accessLog struct {
	log  *slog.Logger
	addr func(*http.Request) netip.Addr
}

// sender is who sent a request, as far as that is known.
type sender struct{ namespace, token string }

type senderKey struct{}

// Admitted notes who sent the request of ctx, for the line about it and for its
// connection.
func Admitted(ctx context.Context, namespace, token string) {
	welcome(ctx)
	if s, ok := ctx.Value(senderKey{}).(*sender); ok {
		*s = sender{namespace, token}
	}
}

// handler returns next with a line for each of its requests.
func (l accessLog) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.log.Enabled(r.Context(), slog.LevelDebug) {
			next.ServeHTTP(w, r)
			return
		}
		began, status, who := time.Now(), &statusWriter{ResponseWriter: w}, new(sender)
		r = r.WithContext(context.WithValue(r.Context(), senderKey{}, who))
		defer func() { l.write(r, status.code(), time.Since(began), who) }()
		next.ServeHTTP(status, r)
	})
}

func (l accessLog) write(r *http.Request, status int, took time.Duration, who *sender) {
	line := []slog.Attr{
		slog.String("method", r.Method), slog.String("route", r.Pattern), slog.Int("status", status),
		slog.Duration("took", took), slog.String("remote", l.addr(r).String()),
	}
	if who.namespace != "" {
		line = append(line, slog.String("namespace", who.namespace))
	}
	if who.token != "" {
		line = append(line, slog.String("token_id", who.token))
	}
	l.log.LogAttrs(r.Context(), slog.LevelDebug, "request", line...)
}

// statusWriter remembers the status of a reply.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	if w.status < http.StatusOK { // 1xx come before the status
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
