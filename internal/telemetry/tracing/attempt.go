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

// Attempt begins the span of an attempt. The attempt is to run under the
// context that it returns and to send the traceparent that it returns, which
// is "" of a nil Tracer; end is called once, with how the attempt ended.
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
		span.SetAttributes(became(o)...)
		if o.Verdict != task.Success {
			span.SetStatus(codes.Error, withoutQuery(o.Error))
		}
		span.End()
	}
}

func ignore(task.Outcome) {}

// about is what is known of an attempt before it is made.
func about(d task.Delivery) []attribute.KeyValue {
	t := d.Task
	list := []attribute.KeyValue{
		attribute.String("foliot.namespace", t.Namespace),
		attribute.String("foliot.queue", t.Queue),
		attribute.String("foliot.task", t.Name),
		attribute.String("foliot.task.id", t.ID),
		attribute.Int("foliot.attempt", d.Number),
		attribute.String("http.request.method", t.Request.Method),
	}
	if host, port, err := net.SplitHostPort(t.Request.Destination); err == nil {
		list = append(list, attribute.String("server.address", host))
		if n, err := strconv.Atoi(port); err == nil {
			list = append(list, attribute.Int("server.port", n))
		}
	}
	return list
}

var verdictNames = [...]string{
	task.Success: "delivered", task.Failure: "failed", task.Deferral: "deferred",
	task.Refusal: "refused", task.Interrupted: "interrupted", task.Unsent: "unsent",
}

// became is what an attempt's end adds.
func became(o task.Outcome) []attribute.KeyValue {
	outcome := "failed"
	if int(o.Verdict) < len(verdictNames) {
		outcome = cmp.Or(verdictNames[o.Verdict], outcome)
	}
	list := []attribute.KeyValue{
		attribute.String("foliot.outcome", outcome),
		attribute.Float64("foliot.late_seconds", o.Late.Seconds()),
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

// withoutQuery cuts an error where a URL's query would begin: the errors of a
// delivery name none, and this keeps it so.
func withoutQuery(text string) string {
	text, _, _ = strings.Cut(text, "?")
	return text
}

// parse reads a W3C traceparent; what is none gives an invalid context.
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
