// Package traces makes OpenTelemetry spans of the handlers of a foliot.Node.
// Only programs that import it link OpenTelemetry.
//
//	foliot.Open(ctx, store, mux, foliot.Options{Tracer: traces.New(otel.GetTracerProvider())})
//
// A task stores the span in the context of the call that created it. Each attempt
// is the root of a new trace with a link to that span: one trace for both would
// be useless in any viewer, because it would begin with a click and end with a
// retry three days later.
package traces

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/foliot/foliot"
)

// New returns a tracer for Options.Tracer, with spans of p. The name of a span is
// the kind of its task, and its attributes are those of `foliot serve`. Arguments
// and labels of tasks are not exported, but the errors of handlers are.
func New(p trace.TracerProvider) foliot.Tracer {
	return tracer{p.Tracer("github.com/foliot/foliot")}
}

type tracer struct{ spans trace.Tracer }

// header is the name of a W3C traceparent.
const header = "traceparent"

func (tracer) Traceparent(ctx context.Context) string {
	to := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, to)
	return to[header]
}

func (t tracer) Start(ctx context.Context, c *foliot.Call, traceparent string) (context.Context, func(error)) {
	options := []trace.SpanStartOption{
		trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
			attribute.String("foliot.namespace", c.Namespace), attribute.String("foliot.queue", c.Queue), attribute.String("foliot.task", c.Name),
			attribute.String("foliot.kind", c.Kind), attribute.Int("foliot.attempt", c.Attempt),
		),
	}
	creator := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{header: traceparent})
	if link := trace.LinkFromContext(creator); link.SpanContext.IsValid() {
		options = append(options, trace.WithLinks(link))
	}
	ctx, span := t.spans.Start(ctx, c.Kind, options...)
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}
