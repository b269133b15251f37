package tracing

import (
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// followSampler is the sdk.Sampler that decides like the parent span or,
// without a parent, like the linked span, and without either calls otherwise.
type followSampler struct{ otherwise sdk.Sampler }

func (f followSampler) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	leader := trace.SpanContextFromContext(p.ParentContext)
	if !leader.IsValid() && len(p.Links) > 0 {
		leader = p.Links[0].SpanContext
	}
	if !leader.IsValid() {
		return f.otherwise.ShouldSample(p)
	}
	result := sdk.SamplingResult{Decision: sdk.Drop, Tracestate: trace.SpanContextFromContext(p.ParentContext).TraceState()}
	if leader.IsSampled() {
		result.Decision = sdk.RecordAndSample
	}
	return result
}

func (f followSampler) Description() string { return "follow(" + f.otherwise.Description() + ")" }
