package tracing

import (
	"context"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Handler returns a handler that makes a span of each API request (/v1/), as a
// child of the caller's span if the request has one. In next, Parent returns
// this span, and Answered describes it.
func (t *Tracer) Handler(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v1/") { // probes and scrapes would be most of the spans
			next.ServeHTTP(w, r)
			return
		}
		ctx := format.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := t.tracer.Start(ctx, "HTTP", trace.WithSpanKind(trace.SpanKindServer))
		defer span.End() // even after a panic, which continues to its handler
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Answered describes the span in the context of a request that was answered, with the
// arguments of api.Config.Observe, which never contain text of the client.
func Answered(ctx context.Context, route, method string, status int) {
	const other = "other"
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	if method == other {
		method = "_OTHER"
	}
	span.SetAttributes(attribute.String("http.request.method", method))
	if status != 0 { // otherwise the connection ended before a reply
		span.SetAttributes(attribute.Int("http.response.status_code", status))
	}
	if route != other {
		span.SetName(method + " " + route)
		span.SetAttributes(attribute.String("http.route", route))
	}
	if status >= 500 {
		span.SetStatus(codes.Error, "")
	}
}

// Parent returns the W3C traceparent of the span in a request's context, which
// a created task stores, or "" if there is none.
func Parent(ctx context.Context) string { return write(trace.SpanContextFromContext(ctx)) }
