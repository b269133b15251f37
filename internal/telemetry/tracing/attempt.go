package tracing

import (
	"cmp"
	"context"
	"net"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/foliot/foliot/internal/task"
)

// Attempt begins the span of an attempt. The attempt must use the returned
// context, send the returned traceparent, which is "" if t is nil, and call end
// once, with its outcome.
func (t *Tracer) Attempt(ctx context.Context, d task.Delivery) (_ context.Context, traceparent string, end func(task.Outcome)) {
	if t == nil {
		return ctx, "", ignore
	}
	options := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindClient)}
	if creator := parse(d.Task.Trace); creator.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: creator}))
	}
	ctx, span := t.tracer.Start(ctx, "deliver", options...)
	if !span.IsRecording() {
		return ctx, write(span.SpanContext()), ignore
	}
	span.SetAttributes(about(d)...)
	return ctx, write(span.SpanContext()), func(o task.Outcome) {
		span.SetAttributes(outcomeAttributes(o)...)
		if o.Verdict != task.Success {
			span.SetStatus(codes.Error, withoutQuery(o.Error))
		}
		span.End()
	}
}

func ignore(task.Outcome) {}

// about returns the attributes that are known before the attempt.
func about(d task.Delivery) []attribute.KeyValue {
	t := d.Task
	list := []attribute.KeyValue{
		attribute.String("foliot.namespace", t.Namespace),
		attribute.String("foliot.queue", t.Queue),
		attribute.String("foliot.task", t.Name),
		attribute.String("foliot.task.id", t.ID),
		attribute.Int("foliot.attempt", d.Number),
	}
	if kind := t.Request.Kind; kind != "" {
		return append(list, attribute.String("foliot.kind", kind))
	}
	list = append(list, attribute.String("http.request.method", t.Request.Method))
	if host, port, err := net.SplitHostPort(t.Request.Destination); err == nil {
		list = append(list, attribute.String("server.address", host))
		if n, err := strconv.Atoi(port); err == nil {
			list = append(list, attribute.Int("server.port", n))
		}
	}
	return list
}

// outcomeAttributes returns the attributes of an attempt's outcome.
func outcomeAttributes(o task.Outcome) []attribute.KeyValue {
	outcome := o.Verdict.String()
	list := []attribute.KeyValue{
		attribute.String("foliot.outcome", outcome),
		attribute.Float64("foliot.late_seconds", o.Late.Seconds()),
		attribute.Float64("foliot.waited_seconds", o.Waited.Seconds()),
	}
	if o.Status != 0 {
		list = append(list, attribute.Int("http.response.status_code", o.Status))
	}
	if o.Verdict != task.Success {
		status := ""
		if o.Status != 0 {
			status = strconv.Itoa(o.Status)
		}
		list = append(list, attribute.String("error.type", cmp.Or(o.Reason, status, outcome)))
	}
	return list
}

// withoutQuery cuts an error at the position where a URL's query would begin.
// Errors of deliveries contain no query, and this makes sure of it.
func withoutQuery(text string) string {
	text, _, _ = strings.Cut(text, "?")
	return text
}

// parse parses a W3C traceparent, and returns an invalid context for an invalid
// one.
func parse(traceparent string) trace.SpanContext {
	if traceparent == "" {
		return trace.SpanContext{}
	}
	carrier := propagation.MapCarrier{"traceparent": traceparent}
	return trace.SpanContextFromContext(format.Extract(context.Background(), carrier))
}

// write is the inverse of parse.
func write(c trace.SpanContext) string {
	if !c.IsValid() {
		return ""
	}
	id, span := c.TraceID(), c.SpanID()
	flags := "-00"
	if c.IsSampled() {
		flags = "-01"
	}
	return "00-" + id.String() + "-" + span.String() + flags
}
