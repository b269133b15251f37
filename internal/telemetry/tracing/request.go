package tracing

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Handler returns a handler that makes a span of each API request (/v1/), as a
// child of the caller's span if the request has one. In next, Parent returns
// this span.
func (t *Tracer) Handler(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v1/") { // probes and scrapes would be most of the spans
			next.ServeHTTP(w, r)
			return
		}
		t.serve(next, w, r)
	})
}

func (t *Tracer) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	ctx := format.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := t.tracer.Start(ctx, "HTTP", trace.WithSpanKind(trace.SpanKindServer))
	inner := r.WithContext(ctx)
	defer func() { r.Pattern = inner.Pattern }() // the mux sets it in inner, and our caller reads it in r
	if !span.IsRecording() {
		next.ServeHTTP(w, inner)
		return
	}
	reply := &reply{ResponseWriter: w}
	defer answered(span, inner, reply) // even after a panic, which continues to its handler
	next.ServeHTTP(reply, inner)
}

// answered ends the span of a request, with a name that never contains text of
// the client.
func answered(span trace.Span, r *http.Request, reply *reply) {
	method, status := r.Method, reply.code()
	if !slices.Contains(methods, method) {
		method = "_OTHER"
	}
	span.SetAttributes(attribute.String("http.request.method", method), attribute.Int("http.response.status_code", status))
	if _, route, routed := strings.Cut(r.Pattern, " "); routed { // the mux sets it
		span.SetName(method + " " + route)
		span.SetAttributes(attribute.String("http.route", route))
	}
	if status >= 500 {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// Parent returns the W3C traceparent of the span in a request's context, which
// a created task stores, or "" if there is none.
func Parent(ctx context.Context) string { return write(trace.SpanContextFromContext(ctx)) }

// reply records the status of a reply, and http.ResponseController finds the
// underlying writer with Unwrap.
type reply struct {
	http.ResponseWriter
	status int
}

func (r *reply) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader records the first final status.
func (r *reply) WriteHeader(status int) {
	if r.status == 0 && status >= 200 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *reply) code() int { return cmp.Or(r.status, http.StatusOK) }
