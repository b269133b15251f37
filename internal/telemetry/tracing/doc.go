// Package tracing tells an OpenTelemetry collector what the server does.
//
// A request to the API is a span of the caller's trace. Each attempt to
// deliver a task is the root of a trace of its own, which its receiver goes
// on with, and is linked to the span that created the task: a trace that
// begins with a click and ends with a retry three days later is of no use in any viewer.
//
// Whether a trace is kept is decided once. A request follows its caller, an
// attempt follows its creator, and where there is neither, the ratio decides. So a
// task that is seen at all is seen from its creation to its end.
//
// What leaves the process: names, ids and numbers of tasks, host and port of
// their destinations, statuses and errors. No URLs, headers or bodies.
//
// Spans wait in a queue of fixed length. A collector that is slow, or gone, costs
// spans, which are counted; it never costs a delivery, nor memory.
package tracing
